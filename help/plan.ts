// What the site is made of: which Markdown file becomes which page, and where the links between them lead.
import { existsSync, statSync } from 'node:fs';
import { glob } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path/posix';
import { GROUPS, type Page } from './groups.ts';

const ROOT = join(import.meta.dirname, '..');
const FIRST_PAGE = 'docs/README.md';
const DECISIONS = 'docs/decisions';
const ELSEWHERE = /^[a-z][a-z0-9+.-]*:/i;

/** Content of the site: its pages by their Markdown file. Files that pages link to are added as links are made. */
export type Plan = { readonly pages: ReadonlyMap<string, string>; readonly files: Map<string, string> };

/** Lists the pages that the navigation names, in its order. */
export const listedPages = (): readonly Page[] =>
  GROUPS.flatMap(({ pages, sections = [] }) => [...pages, ...sections.flatMap((section) => section.pages)]);

/**
 * Decides which Markdown file becomes which page. Throws if a page of docs is in no group of the navigation, or if a page
 * that the navigation names does not exist.
 */
export async function planPages(): Promise<Plan> {
  const listed = listedPages().map(({ source }) => source);
  const found = (await Array.fromAsync(glob('docs/**/*.md', { cwd: ROOT }))).sort();
  const decisions = found.filter((source) => source.startsWith(`${DECISIONS}/`));
  const sources = [FIRST_PAGE, ...listed, ...decisions];
  const astray = found.filter((source) => !sources.includes(source));
  const missing = listed.filter((source) => !existsSync(join(ROOT, source)));
  if (astray.length > 0) throw new Error(`In no group of help/groups.ts: ${astray.join(', ')}`);
  if (missing.length > 0) throw new Error(`help/groups.ts names what does not exist: ${missing.join(', ')}`);
  return { pages: new Map(sources.map((source) => [source, addressOf(source)])), files: new Map() };
}

/** Returns the place of a page in the site: `docs/how-to/rcs.md` is `how-to/rcs.md`, `client/README.md` `client.md`. */
export function addressOf(source: string): string {
  if (source === FIRST_PAGE) return 'index.md';
  if (source === 'README.md') return 'install.md';
  const inside = source.replace(/^docs\//, '');
  const folder = /^(.+)\/README\.md$/.exec(inside)?.[1];
  return folder === undefined ? inside.replace(/^[A-Z_]+(?=\.md$)/, lowerCase) : `${folder}.md`;
}

const lowerCase = (name: string): string => name.toLowerCase().replaceAll('_', '-');

/**
 * Returns where a link of a page leads within the site, or null if it leads to a folder that is no page. A file that is
 * no page becomes a file of the site; one of source code as text, which browsers show.
 */
export function placeLink({ pages, files }: Plan, source: string, link: string): string | null {
  if (ELSEWHERE.test(link) || link.startsWith('#')) return link;
  const [path = '', anchor] = link.split('#');
  const target = join(dirname(source), decodeURIComponent(path)).replace(/\/$/, '');
  const place = pages.get(target) ?? pages.get(`${target}/README.md`) ?? placeOfOther(files, target);
  if (place === null) return null;
  const made = relative(dirname(pages.get(source) ?? ''), place);
  const dotted = made.startsWith('.') ? made : `./${made}`;
  return anchor === undefined ? dotted : `${dotted}#${anchor}`;
}

function placeOfOther(files: Map<string, string>, target: string): string | null {
  if (target === DECISIONS) return 'decisions/index.md';
  if (statSync(join(ROOT, target)).isDirectory()) return null;
  const isShown = /\.(json|png)$/.test(target);
  const place = isShown ? target.replace(/^docs\//, '') : `files/${target.replace(/^docs\//, '')}.txt`;
  files.set(target, place);
  return place;
}
