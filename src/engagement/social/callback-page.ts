type Texts = {
  readonly connected: (network: string) => string;
  readonly failed: (network: string) => string;
  readonly back: string;
};

/** What the console speaks, too. */
const TEXTS = {
  en: {
    connected: (network) => `${network} is connected. You can close this window.`,
    failed: (network) => `${network} could not be connected.`,
    back: 'Back to the console',
  },
  it: {
    connected: (network) => `${network} è collegato. Puoi chiudere questa finestra.`,
    failed: (network) => `Non è stato possibile collegare ${network}.`,
    back: 'Torna alla console',
  },
} satisfies Readonly<Record<string, Texts>>;

const isLanguage = (text: string): text is keyof typeof TEXTS => Object.hasOwn(TEXTS, text);

/** The page needs nothing but itself, and nobody may frame it. */
export const PAGE_POLICY = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** What a network says is anybody's text. */
const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

/** Whether a person reads the answer, and no program: browsers ask for pages. */
export const isBrowser = (accept = ''): boolean => /\btext\/html\b/i.test(accept);

/**
 * What a person reads at the end of connecting a profile: a page without scripts, with the way back to where they began.
 * `network` is a name of ours (networks/networks.ts) and goes into the markup as it is; `fault` says why it is not
 * connected; `acceptLanguage` is that header, whose order alone counts: browsers send what is wanted most first.
 */
export function resultPage(network: string, fault: string | null, acceptLanguage = ''): string {
  const preferred = acceptLanguage.split(',').map((wish) => wish.trim().slice(0, 2).toLowerCase());
  const language = preferred.find(isLanguage) ?? 'en';
  const { connected, failed, back } = TEXTS[language];
  const said = fault === null ? [connected(network)] : [failed(network), escaped(fault)];
  return `<!doctype html>
<html lang="${language}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>Heliograph</title>
<main>
${said.map((sentence) => `<p>${sentence}</p>`).join('\n')}
<p><a href="/social">${back}</a></p>
</main>
</html>
`;
}
