/**
 * The content security policy (src/core/http/pages.ts) forbids scripts to write plain strings to `innerHTML`
 * and the like. In our code only Mantine does so, for its style sheets. This policy therefore lets strings without an
 * angle bracket pass and rejects markup from any source.
 */
type Factory = { createPolicy(name: string, rules: { createHTML(text: string): string }): unknown };

function refuseMarkup(text: string): string {
  if (text.includes('<')) throw new TypeError('Markup is refused: texts are shown as texts');
  return text;
}

const factory = (globalThis as { trustedTypes?: Factory }).trustedTypes;
factory?.createPolicy('default', { createHTML: refuseMarkup });
