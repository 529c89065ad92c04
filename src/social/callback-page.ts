type Texts = { readonly connected: (network: string) => string; readonly back: string };

/** What the console speaks, too. */
const TEXTS = {
  en: {
    connected: (network) => `${network} is connected. You can close this window.`,
    back: 'Back to the console',
  },
  it: {
    connected: (network) => `${network} è collegato. Puoi chiudere questa finestra.`,
    back: 'Torna alla console',
  },
} satisfies Readonly<Record<string, Texts>>;

const isLanguage = (text: string): text is keyof typeof TEXTS => Object.hasOwn(TEXTS, text);

/** The page needs nothing but itself, and nobody may frame it. */
export const PAGE_POLICY = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/**
 * What a person reads at the end of connecting a profile: a page without scripts, with the way back to where they began.
 * `network` is a name of ours (networks/networks.ts) and goes into the markup as it is; `acceptLanguage` is that header,
 * whose order alone counts: browsers send what is wanted most first.
 */
export function connectedPage(network: string, acceptLanguage = ''): string {
  const wishes = acceptLanguage.split(',').map((wish) => wish.trim().slice(0, 2).toLowerCase());
  const language = wishes.find(isLanguage) ?? 'en';
  const { connected, back } = TEXTS[language];
  return `<!doctype html>
<html lang="${language}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>Heliograph</title>
<main>
<p>${connected(network)}</p>
<p><a href="/social">${back}</a></p>
</main>
</html>
`;
}
