/** Code, in which a bracket before a parenthesis is no link, nor a # a heading. */
const CODE = /^ *```[^]*?^ *```|`[^`\n]*`/gm;
const FENCES = /^ *```[^]*?^ *```/gm;
/** [text](target) and ![text](target): what is before the target, the target, and what is after it. */
const LINK = /(!?\[(?:[^\]`]|`[^`\n]*`)*\]\(<?)([^)\s>]+)(>?(?: "[^"]*")?\))/g;
const HEADING = /^#{1,6} +(.+?) *#*$/gm;

/** Returns the anchor of a heading as forges make it: lower case, spaces to hyphens, other punctuation left out. */
export const slugOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M}_ -]/gu, '')
    .replaceAll(' ', '-');

/** Returns the anchors of a page of Markdown; those of headings that repeat are numbered. */
export function anchorsOf(text: string): Set<string> {
  const seen = new Map<string, number>();
  const anchors = new Set<string>();
  for (const [, heading = ''] of text.replace(FENCES, '').matchAll(HEADING)) {
    const slug = slugOf(heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1'));
    const times = seen.get(slug) ?? 0;
    anchors.add(times === 0 ? slug : `${slug}-${times}`);
    seen.set(slug, times + 1);
  }
  return anchors;
}

/** Returns the title of a page: its first heading. */
export const titleOf = (text: string): string | undefined => /^# (.+)$/m.exec(text)?.[1];

/**
 * Replaces the targets of all links and images outside of code. A link whose new target is null loses its target and
 * keeps its text.
 */
export function replaceLinks(text: string, replace: (target: string) => string | null): string {
  const code = [...text.matchAll(CODE)].map(({ index, 0: { length } }) => [index, index + length] as const);
  const isCode = (at: number): boolean => code.some(([start, end]) => at >= start && at < end);
  return text.replace(LINK, (whole, before: string, target: string, after: string, at: number) => {
    if (isCode(at)) return whole;
    const made = replace(target);
    return made === null ? before.slice(1, before.lastIndexOf(']')) : `${before}${made}${after}`;
  });
}
