/** Consent to further messages, as expressed by a message from a handset. */
export type ConsentWord = 'stop' | 'start';

/**
 * Words that must be the whole message, in any case, by language. `STOP` and `START` are understood in every language.
 */
const STOP_WORDS: Readonly<Record<string, readonly string[]>> = {
  en: ['stop', 'stopall', 'stop all', 'unsubscribe', 'cancel', 'end', 'quit', 'opt out', 'optout', 'revoke'],
  it: ['ferma', 'fermati', 'basta', 'disiscrivi', 'disiscrivimi', 'cancellami', 'cancella'],
  es: ['alto', 'parar', 'pare', 'baja', 'cancelar', 'darse de baja'],
  pt: ['parar', 'pare', 'sair', 'cancelar', 'remover'],
  fr: ['arret', 'arrêt', 'arreter', 'arrêter', 'desabonner', 'désabonner', 'desinscription', 'désinscription'],
  de: ['stopp', 'halt', 'abmelden', 'abbestellen', 'ende', 'kündigen', 'kuendigen'],
  nl: ['stoppen', 'afmelden', 'uitschrijven'],
  pl: ['koniec', 'rezygnuję', 'rezygnuje', 'wypisz'],
  sv: ['stopp', 'avsluta', 'sluta', 'avregistrera'],
  el: ['στοπ', 'διακοπή', 'διακοπη'],
  ru: ['стоп', 'отписаться', 'отписка'],
  uk: ['стоп', 'відписатися'],
  tr: ['dur', 'iptal', 'ret'],
  ar: ['توقف', 'إيقاف', 'الغاء', 'إلغاء'],
};
const START_WORDS: Readonly<Record<string, readonly string[]>> = {
  en: ['start', 'unstop', 'subscribe', 'opt in', 'optin'],
  it: ['inizia', 'riprendi', 'iscrivimi'],
  es: ['iniciar', 'empezar', 'alta', 'suscribir'],
  pt: ['iniciar', 'começar', 'comecar', 'voltar'],
  fr: ['demarrer', 'démarrer', 'reprendre', "s'abonner"],
  de: ['starten', 'anmelden'],
  nl: ['starten', 'aanmelden'],
  pl: ['zapisz'],
  sv: ['starta'],
  el: ['έναρξη', 'εναρξη'],
  ru: ['старт', 'подписаться'],
  uk: ['старт', 'підписатися'],
  tr: ['başla', 'basla'],
  ar: ['ابدأ', 'اشتراك'],
};

const WORDS: ReadonlyMap<string, ConsentWord> = new Map([
  ...Object.values(START_WORDS)
    .flat()
    .map((word) => [word, 'start'] as const),
  ...Object.values(STOP_WORDS)
    .flat()
    .map((word) => [word, 'stop'] as const),
]);

const MAX_WORD_LENGTH = Math.max(...[...WORDS.keys()].map((word) => word.length));
/** Matches from the first letter to the last: quotes, dots and exclamation marks around the word are not part of it. */
const WORD = /\p{L}(?:.*\p{L})?/su;
/** Separators between words; each counts as one space. */
const BETWEEN = /[\s\-_]+/gu;

/**
 * Returns the consent that a message expresses, or null. A message that merely contains one of the words ("when does
 * the sale end?") expresses none.
 */
export function consentWordOf(text: string): ConsentWord | null {
  if (text.length > 2 * MAX_WORD_LENGTH) return null;
  const [word = ''] = WORD.exec(text.normalize('NFC').toLowerCase()) ?? [];
  return WORDS.get(word.replace(BETWEEN, ' ')) ?? null;
}
