import type { AppError } from '../../platform/errors.ts';
import type { Finished } from './finish.ts';
import type { Network } from './networks/network.ts';
import type { Language } from '../../identity/mail-text.ts';
import { explain } from './refusal.ts';

type Texts = {
  readonly connected: (network: string) => string;
  readonly failed: (network: string) => string;
  readonly notListed: (network: string) => string;
  readonly says: (network: string) => string;
  readonly back: string;
};

/** The texts in the languages of the console. */
const TEXTS = {
  en: {
    connected: (network) => `${network} is connected. You can close this window.`,
    failed: (network) => `${network} could not be connected.`,
    notListed: (network) => `${network} did not list what belongs to the profile.`,
    says: (network) => `${network} says:`,
    back: 'Back to the console',
  },
  it: {
    connected: (network) => `${network} è collegato. Puoi chiudere questa finestra.`,
    failed: (network) => `Non è stato possibile collegare ${network}.`,
    notListed: (network) => `${network} non ha elencato ciò che appartiene al profilo.`,
    says: (network) => `Risposta di ${network}:`,
    back: 'Torna alla console',
  },
  es: {
    connected: (network) => `${network}: perfil conectado. Puedes cerrar esta ventana.`,
    failed: (network) => `No se ha podido conectar el perfil de ${network}.`,
    notListed: (network) => `${network} no ha indicado qué pertenece al perfil.`,
    says: (network) => `Respuesta de ${network}:`,
    back: 'Volver a la consola',
  },
  de: {
    connected: (network) => `${network} ist verbunden. Sie können dieses Fenster schließen.`,
    failed: (network) => `${network} konnte nicht verbunden werden.`,
    notListed: (network) => `${network} hat nicht angegeben, was zu dem Profil gehört.`,
    says: (network) => `Antwort von ${network}:`,
    back: 'Zurück zur Konsole',
  },
} satisfies Readonly<Record<Language, Texts>>;

const isLanguage = (text: string): text is Language => Object.hasOwn(TEXTS, text);

/** The Content-Security-Policy of the page: it loads nothing and cannot be framed. */
export const PAGE_POLICY = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Escapes a text for HTML: messages of networks may contain anything. */
const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

const paragraph = (text: string): string => `<p>${escaped(text)}</p>`;

/** Returns true if a person reads the response: browsers accept HTML, programs do not. */
export const isBrowser = (accept = ''): boolean => /\btext\/html\b/i.test(accept);

/**
 * Makes the page that a person sees after connecting a profile, or failing to. It has no scripts, and a link back to
 * the console. The network's message is quoted separately from our text. `acceptLanguage` is that header, of which only
 * the order counts: browsers send the preferred language first.
 */
export function resultPage(network: Network, finished: Finished | AppError, acceptLanguage = ''): string {
  const preferred = acceptLanguage.split(',').map((wish) => wish.trim().slice(0, 2).toLowerCase());
  const language = preferred.find(isLanguage) ?? 'en';
  return `<!doctype html>
<html lang="${language}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>Heliograph</title>
<main>
${sentencesOf(network, finished, language).join('\n')}
<p><a href="/social">${TEXTS[language].back}</a></p>
</main>
</html>
`;
}

function sentencesOf(network: Network, finished: Finished | AppError, language: Language): readonly string[] {
  const { label } = network;
  const { connected, failed, notListed, says } = TEXTS[language];
  const quoted = (words: string): readonly string[] =>
    words === '' ? [] : [paragraph(says(label)), `<blockquote>${paragraph(words)}</blockquote>`];
  if (!('ok' in finished)) return [paragraph(failed(label)), paragraph(finished.message)];
  if (!finished.ok) {
    const { refusal } = finished;
    return [paragraph(failed(label)), ...quoted(refusal.words), paragraph(explain(network, refusal, language))];
  }
  const { linkedFault } = finished;
  const note = linkedFault === null ? [] : [paragraph(notListed(label)), ...quoted(linkedFault)];
  return [paragraph(connected(label)), ...note];
}
