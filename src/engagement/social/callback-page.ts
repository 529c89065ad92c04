type Texts = {
  readonly connected: (network: string) => string;
  readonly failed: (network: string) => string;
  readonly back: string;
};

/** The texts in the languages of the console. */
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

/** The Content-Security-Policy of the page: it loads nothing, and nobody may frame it. */
export const PAGE_POLICY = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Escapes a text for HTML: messages of networks may contain anything. */
const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

/** Whether a person reads the response: browsers accept HTML, programs do not. */
export const isBrowser = (accept = ''): boolean => /\btext\/html\b/i.test(accept);

/**
 * Makes the page that a person sees after connecting a profile. It has no scripts, and a link back to the console.
 * `network` is one of our labels (networks/networks.ts) and is not escaped. `fault` says why the profile is not
 * connected; null: it is. `acceptLanguage` is that header, of which only the order counts: browsers send the preferred
 * language first.
 */
export function resultPage(network: string, fault: string | null, acceptLanguage = ''): string {
  const preferred = acceptLanguage.split(',').map((wish) => wish.trim().slice(0, 2).toLowerCase());
  const language = preferred.find(isLanguage) ?? 'en';
  const { connected, failed, back } = TEXTS[language];
  const sentences = fault === null ? [connected(network)] : [failed(network), escaped(fault)];
  return `<!doctype html>
<html lang="${language}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>Heliograph</title>
<main>
${sentences.map((sentence) => `<p>${sentence}</p>`).join('\n')}
<p><a href="/social">${back}</a></p>
</main>
</html>
`;
}
