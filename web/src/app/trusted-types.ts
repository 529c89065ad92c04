/**
 * The policy of the page (src/platform/http/console.ts) lets scripts put no plain text into `innerHTML` and its kind. Mantine
 * writes its style sheets that way, and nothing else of ours does: so texts without an angle bracket pass, and markup
 * from whatever source does not.
 */
type Factory = { createPolicy(name: string, rules: { createHTML(text: string): string }): unknown };

function refuseMarkup(text: string): string {
  if (text.includes('<')) throw new TypeError('Markup is refused: texts are shown as texts');
  return text;
}

const factory = (globalThis as { trustedTypes?: Factory }).trustedTypes;
factory?.createPolicy('default', { createHTML: refuseMarkup });
