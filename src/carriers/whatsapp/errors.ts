import { getMember, getText } from '../json.ts';
import type { Outcome } from '../outcome.ts';

/** The final states that a refusal can lead to. */
export type Refusal = Extract<Outcome, { kind: 'refused' }>['status'];

/**
 * What an error of the Graph API requires of us (protocol sheet whatsapp, section 10).
 *
 * `refuse`: this message will never be accepted; with `blames: 'account'` the reason lies with our number or account,
 * which pauses and needs a person. `token`: nothing is accepted until a person provides another token. `hold`: the
 * message waits until a person has granted a permission. `busy`: the number or account in `scope` pauses and the
 * message is sent again; `counts` as in `Outcome`. `pair`: too many messages to one person. `repeat`: sent again here
 * twice, then refused. `later`: this message is sent again later.
 */
export type ErrorClass =
  | { readonly act: 'refuse'; readonly status: Refusal; readonly blames: 'message' | 'account' }
  | { readonly act: 'token' | 'hold' | 'pair' | 'repeat' | 'later' }
  | {
      readonly act: 'busy';
      readonly scope: 'number' | 'account';
      readonly counts: boolean;
      readonly minPauseMs: number;
    };

const refuse = (status: Refusal, blames: 'message' | 'account' = 'message'): ErrorClass => ({
  act: 'refuse',
  status,
  blames,
});
const TOKEN: ErrorClass = { act: 'token' };
const HOLD: ErrorClass = { act: 'hold' };
const PAIR: ErrorClass = { act: 'pair' };
const REPEAT: ErrorClass = { act: 'repeat' };
const LATER: ErrorClass = { act: 'later' };
const MESSAGE = refuse('ERROR');
const ACCOUNT = refuse('ERROR', 'account');
const NUMBER_LIMIT: ErrorClass = { act: 'busy', scope: 'number', counts: false, minPauseMs: 0 };
const ACCOUNT_LIMIT: ErrorClass = { act: 'busy', scope: 'account', counts: false, minPauseMs: 0 };
const UNAVAILABLE: ErrorClass = { act: 'busy', scope: 'number', counts: true, minPauseMs: 0 };
/** The upgrade of a number to a higher throughput takes minutes. */
const MAINTENANCE: ErrorClass = { act: 'busy', scope: 'number', counts: false, minPauseMs: 60_000 };

const CLASSES: ReadonlyMap<number, ErrorClass> = new Map(
  (
    [
      [TOKEN, [0, 190]],
      [HOLD, [3, 10]],
      [ACCOUNT_LIMIT, [4, 80007]],
      [NUMBER_LIMIT, [130429]],
      [PAIR, [131056]],
      [MAINTENANCE, [131057]],
      [UNAVAILABLE, [2, 131016, 133004]],
      [REPEAT, [1, 131000]],
      [LATER, [132069]],
      [refuse('UNSUPPORTED'), [131026]],
      [refuse('CONVERSATION_CLOSED'), [470, 131047]],
      [refuse('DISABLED'), [130403, 131050]],
      [ACCOUNT, [33, 368, 130497, 131005, 131031, 131037, 131042, 131045, 131048, 131063, 131064]],
      [ACCOUNT, [133000, 133005, 133006, 133008, 133009, 133010, 133015, 133016]],
      [ACCOUNT, [134011, 134100, 134101, 134102]],
      [MESSAGE, [100, 130472, 131008, 131009, 131021, 131030, 131049, 131051, 131052, 131053, 131055, 131062]],
      [MESSAGE, [132000, 132001, 132005, 132007, 132012, 132015, 132016, 132018, 132068, 135000]],
    ] as const
  ).flatMap(([errorClass, codes]) => codes.map((code): [number, ErrorClass] => [code, errorClass])),
);

/** Returns the class of a Graph API error. Codes that are not listed are classified by the HTTP status. */
export function classOf(code: number, httpStatus: number): ErrorClass {
  const known = CLASSES.get(code);
  if (known) return known;
  if (code >= 200 && code <= 299) return HOLD;
  return classOfHttp(httpStatus);
}

/** Returns the class by the HTTP status alone, which is only a hint: nothing is refused that may be accepted later. */
export function classOfHttp(httpStatus: number): ErrorClass {
  if (httpStatus === 401) return TOKEN;
  if (httpStatus === 429) return NUMBER_LIMIT;
  if (httpStatus === 403 || (httpStatus >= 300 && httpStatus <= 399)) return HOLD;
  return httpStatus >= 500 || httpStatus === 408 ? LATER : MESSAGE;
}

/**
 * Returns the state of a message that was accepted and then reported as failed with this code. An error that would have
 * allowed a retry before acceptance is an ordinary ERROR now, since the network has given up the message.
 */
export function statusOfFailure(code: number | null): Refusal {
  const known = code === null ? undefined : CLASSES.get(code);
  return known?.act === 'refuse' ? known.status : 'ERROR';
}

/** The error object of an answer or a status (protocol sheet whatsapp, sections 8 and 10). */
export type GraphError = { readonly code: number; readonly text: string };

/** Reads an error object, `{ code, message, title, error_data: { details } }`; null when it has no code. */
export function readGraphError(json: unknown): GraphError | null {
  const written = getMember(json, 'code');
  const code = typeof written === 'string' && /^\d{1,9}$/.test(written) ? Number(written) : written;
  if (typeof code !== 'number' || !Number.isInteger(code)) return null;
  const title = getText(json, 'title') || getText(json, 'message');
  const details = getText(getMember(json, 'error_data'), 'details');
  const text = details === '' || details === title ? title : `${title}: ${details}`;
  return { code, text: text.slice(0, MAX_TEXT_LENGTH) || `error ${code}` };
}

const MAX_TEXT_LENGTH = 1000;
