import { consentWordOf } from '../../../messaging/consent/words.ts';

/** Beginnings of automatic messages, in the languages of their phones. */
const AUTOMATIC =
  /^\W*(auto(matic|mated)?[ -]?(reply|response|answer)|out of (the )?office|i'?m driving|risposta automatica|fuori ufficio|respuesta autom[aá]tica|r[eé]ponse automatique|automatische antwort|abwesenheitsnotiz|resposta autom[aá]tica)/i;

/** A full phone number; shorter ones and names are services, which no person reads. */
const PERSON = /^\+?\d{9,15}$/;

type Written = { readonly channel: string; readonly source: string; readonly text: string };

/**
 * Returns true if an inbound message may get an automatic answer: not one about consent such as STOP, nor one that
 * appears to be automatic, nor one that repeats the automatic answer itself.
 */
export function mayBeAnswered({ channel, source, text }: Written, answer: string): boolean {
  if (consentWordOf(text) !== null) return false;
  if (channel === 'SMS' && !PERSON.test(source)) return false;
  return !AUTOMATIC.test(text) && text.trim() !== answer.trim();
}
