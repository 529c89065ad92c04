import { type HttpAnswer, retryAfterMs } from '../http/client.ts';
import type { Outcome } from '../outcome.ts';
import { compilePlace, compilePlaces, type Document, type Read, toDocument } from './place.ts';
import type { Answer, Rule } from './protocol.ts';

type Refusal = Extract<Outcome, { kind: 'refused' }>['status'];

/** Result of an attempt to send a message. */
export type Verdict =
  /**
   * The carrier took it, under these ids, of which each part may have one; none if the response is expected to name
   * none.
   */
  | { readonly act: 'accepted'; readonly ids: readonly string[] }
  | {
      readonly act: 'refused';
      readonly status: Refusal;
      readonly elsewhere: boolean;
      /**
       * True if no rule of the carrier applied, only the HTTP status: the response may be that of a proxy in front of
       * it.
       */
      readonly byStatus: boolean;
      readonly code: string;
      readonly text: string;
    }
  | {
      readonly act: 'throttled' | 'later' | 'unavailable' | 'fault' | 'unknown';
      readonly code: string;
      readonly text: string;
      /** The wait that the carrier asks for; 0 if none. */
      readonly waitMs: number;
    }
  /** Nothing was written. */
  | { readonly act: 'not-written'; readonly text: string };

/** Judges the response to the request for one message. */
export type Judge = (answer: HttpAnswer) => Verdict;

const MAX_TEXT_LENGTH = 500;
/** The longest id that fits an index; a longer one would match nothing. */
export const MAX_ID_LENGTH = 200;

/**
 * Compiles the rules for reading the responses of a carrier: the first that fits applies, then the meaning of the HTTP
 * status. By status, 2xx is taken, 401 a fault, 429 throttled, other 3xx and 4xx refused. 408 and 5xx are unknown,
 * because a proxy in front of the carrier returns them too, after it has passed the message on; so is 409, which
 * carriers return for a message that they have already. A 2xx without the expected id is unknown. Codes and texts pass
 * through `hide`, which removes secrets from them.
 */
export function compileJudge(answer: Answer, hide: (text: string) => string = (said) => said): Judge {
  const ids = answer.id === undefined ? null : compilePlaces(answer.id);
  const [code, text] = [answer.code, answer.text].map((place) =>
    place === undefined ? undefined : compilePlace(place),
  );
  const rules = answer.rules.map((rule) => compileRule(rule, code));
  return (got) => {
    if (got.kind === 'failed') {
      if (!got.written) return { act: 'not-written', text: got.reason };
      return { act: 'unknown', code: 'NO_ANSWER', text: got.reason, waitMs: 0 };
    }
    const document = toDocument(got.body, got.headers);
    const known = rules.find(({ fits }) => fits(got.status, document))?.rule;
    const rule = known ?? meaningOf(got.status);
    if (rule.outcome === 'accepted') return accepted(ids && ids(document));
    const fault = {
      code: hide(code ? code(document) : '').slice(0, 100) || `HTTP_${got.status}`,
      text: hide(text ? text(document) : '').slice(0, MAX_TEXT_LENGTH) || explain(got.status, hide(document.text)),
    };
    if (rule.outcome === 'refused')
      return { act: 'refused', status: rule.as, elsewhere: rule.elsewhere, byStatus: known === undefined, ...fault };
    return { act: rule.outcome, ...fault, waitMs: retryAfterMs(got.headers) };
  };
}

function accepted(ids: readonly string[] | null): Verdict {
  if (ids === null) return { act: 'accepted', ids: [] };
  if (ids.length > 0 && ids.every((id) => id.length <= MAX_ID_LENGTH)) return { act: 'accepted', ids };
  return { act: 'unknown', code: 'NO_ID', text: 'The carrier answered without an id of the message', waitMs: 0 };
}

type Compiled = { readonly rule: Rule; readonly fits: (status: number, document: Document) => boolean };

function compileRule(rule: Rule, code: Read | undefined): Compiled {
  const { status, is } = rule;
  const read = rule.at === undefined ? code : compilePlace(rule.at);
  const hasStatus = (got: number): boolean =>
    status === undefined || status === String(got) || status === `${Math.floor(got / 100)}xx`;
  const hasValue = (document: Document): boolean => {
    if (is === undefined) return true;
    const value = read ? read(document) : '';
    return is.includes(value) || (value !== '' && is.includes('*'));
  };
  return { rule, fits: (got, document) => hasStatus(got) && hasValue(document) };
}

type Meaning = Pick<Rule, 'outcome' | 'as' | 'elsewhere'>;
const meaning = (outcome: Rule['outcome'], elsewhere = false): Meaning => ({ outcome, as: 'REJECTED', elsewhere });

function meaningOf(status: number): Meaning {
  if (status >= 200 && status <= 299) return meaning('accepted');
  if (status === 401) return meaning('fault');
  if (status === 429) return meaning('throttled');
  if (status === 408 || status === 409 || status >= 500) return meaning('unknown');
  // No rights, no money, a wrong path, a redirect: not related to the message.
  return meaning('refused', status < 400 || (status >= 402 && status <= 405));
}

const explain = (status: number, body: string): string =>
  `The carrier answered ${status}: ${body.replaceAll('\0', '').toWellFormed().replace(/\s+/g, ' ').trim()}`.slice(
    0,
    MAX_TEXT_LENGTH,
  );
