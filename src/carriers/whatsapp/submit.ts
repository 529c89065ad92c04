import { setTimeout as delay } from 'node:timers/promises';
import type { Submission } from '../carrier.ts';
import type { Gate } from '../http/gate.ts';
import { retryAfterMs } from '../http/client.ts';
import { listIn, wordsIn } from '../json.ts';
import type { Outcome } from '../outcome.ts';
import { errorIn, type GraphAnswer, type GraphClient } from './client.ts';
import { classOf, classOfHttp, type ErrorClass, type Refusal } from './errors.ts';
import type { SendingNumber } from './numbers.ts';

export type SubmitDeps = {
  readonly client: GraphClient;
  readonly gate: Gate;
  readonly timing: Timing;
  /** The token is not taken any more. */
  readonly tokenRefused: (text: string) => void;
  /** No answer came: whether anybody is there must be found out before more is sent. */
  readonly linkInDoubt: (reason: string) => void;
  /** A number, or the account, needs a person. */
  readonly alert: (number: SendingNumber, code: string, text: string) => void;
};

/** For tests; the sheet's figures are the defaults of the carrier. */
export type Timing = {
  /** Between the tries of what the network failed at for no reason that it knows. */
  readonly repeatMs: readonly number[];
  /** A message that the network cannot take now. */
  readonly laterMs: number;
  /** A message that waits for a person to act. */
  readonly holdMs: number;
  readonly probeBaseMs: number;
  readonly probeMaxMs: number;
  readonly tokenRetryMs: number;
};

/** What one try came to. */
type Verdict =
  | { readonly kind: 'done'; readonly outcome: Outcome }
  | {
      readonly kind: 'error';
      readonly what: ErrorClass;
      readonly code: string;
      readonly text: string;
      readonly leastMs: number;
    };

/**
 * Sends one message by one number and resolves with its outcome (protocol sheet whatsapp, sections 2, 9 and 10). The
 * network knows no key by which it would recognise a message: what was written and not answered is unknown, and is not
 * sent again here.
 */
export async function sendMessage(deps: SubmitDeps, number: SendingNumber, submission: Submission): Promise<Outcome> {
  const body = messageOf(submission);
  if (body === null) return notSendable('A binary message has no form in WhatsApp');
  const pauseMs = number.pauseMs();
  if (pauseMs > 0) return later('PAUSED', `The number pauses: ${number.fault() ?? 'too many messages'}`, pauseMs);
  const turnMs = number.takeTurn();
  if (turnMs > 0 && !(await waited(turnMs, deps.gate))) return NOT_SENT;
  for (const repeatMs of [...deps.timing.repeatMs, null]) {
    const verdict = readAnswer(await post(deps, number, body), submission);
    if (verdict.kind === 'done') return finish(deps, number, submission, verdict.outcome);
    if (verdict.what.act !== 'twice' || repeatMs === null) return conclude(deps, number, submission, verdict);
    if (!(await waited(repeatMs, deps.gate))) return later(verdict.code, verdict.text, 0);
  }
  return NOT_SENT;
}

const post = ({ client }: SubmitDeps, { id }: SendingNumber, json: object): Promise<GraphAnswer> =>
  client.call({ method: 'POST', path: `/${id}/messages`, json });

/** False when the carrier stops meanwhile. */
async function waited(ms: number, { stopping }: Gate): Promise<boolean> {
  try {
    await delay(ms, undefined, { signal: stopping });
    return true;
  } catch {
    return false;
  }
}

/** Business-scoped user ids stand in place of a number (protocol sheet whatsapp, section 2). */
const USER_ID = /^[A-Z]{2}\.[A-Za-z0-9]+$/;

/** The body of the request; statuses give `biz_opaque_callback_data` back. Null for what has no form here. */
function messageOf({ messageId, destination, body, content, binary }: Submission): object | null {
  if (binary) return null;
  const said = content?.channel === 'WHATSAPP' ? content.message : { type: 'text', text: { body, preview_url: false } };
  return {
    ...said,
    messaging_product: 'whatsapp',
    recipient_type: 'individual',
    ...(USER_ID.test(destination) ? { recipient: destination } : { to: destination }),
    biz_opaque_callback_data: messageId,
  };
}

function readAnswer(answer: GraphAnswer, { messageId }: Submission): Verdict {
  if (answer.kind === 'failed') {
    return { kind: 'done', outcome: answer.written ? unknown(answer.reason, messageId) : NOT_SENT };
  }
  const { status, json, headers } = answer;
  const error = errorIn(json);
  const leastMs = retryAfterMs(headers);
  if (error) {
    return { kind: 'error', what: classOf(error.code, status), code: String(error.code), text: error.text, leastMs };
  }
  if (status >= 200 && status <= 299) return { kind: 'done', outcome: accepted(json, messageId) };
  // What stands between us and the API answers 5xx too, and then nobody knows how far the message came.
  const text = `The API answered ${status}, not in its own form`;
  if (status >= 500) return { kind: 'done', outcome: unknown(text, messageId) };
  return { kind: 'error', what: classOfHttp(status), code: `HTTP_${status}`, text, leastMs };
}

function accepted(json: unknown, messageId: string): Outcome {
  const [message] = listIn(json, 'messages');
  const id = wordsIn(message, 'id');
  if (id === '') return unknown('The API answered without a message id', messageId);
  const word = wordsIn(message, 'message_status');
  return { kind: 'accepted', carrierIds: [id], ...(HOLDS.includes(word) && { held: word }) };
}

/** While the network paces a new template: the message goes out later, or fails. */
const HOLDS: readonly string[] = ['held_for_quality_assessment', 'paused'];

/** Known by our id only: a status that names it says what became of it. */
const unknown = (text: string, messageId: string): Outcome => ({ kind: 'unknown', text, carrierIds: [messageId] });

function finish(deps: SubmitDeps, number: SendingNumber, { destination }: Submission, outcome: Outcome): Outcome {
  if (outcome.kind === 'accepted') {
    number.flowing(destination);
    deps.gate.flowing();
  } else if (outcome.kind === 'unknown' || outcome === NOT_SENT) {
    deps.linkInDoubt(outcome.text);
  }
  return outcome;
}

/** What an error does to the number, to the carrier, and to the message. */
function conclude(
  deps: SubmitDeps,
  number: SendingNumber,
  { destination }: Submission,
  { what, code, text, leastMs }: Extract<Verdict, { kind: 'error' }>,
): Outcome {
  const { gate, timing } = deps;
  switch (what.act) {
    case 'refuse':
      if (what.blames === 'account') rest(deps, number, code, text);
      return refused(what.status, what.blames === 'account', code, text);
    case 'twice':
      return refused('ERROR', false, code, text);
    case 'token':
      deps.tokenRefused(text);
      return later(code, text, timing.tokenRetryMs);
    case 'hold':
      rest(deps, number, code, text, timing.holdMs);
      return { ...later(code, text, timing.holdMs), counts: true };
    case 'busy': {
      const resting = what.scope === 'number' ? number : gate;
      resting.pause(Math.max(what.leastMs, leastMs));
      return { ...later(code, text, resting.pauseMs()), counts: what.counts };
    }
    case 'pair':
      return later(code, text, number.pairPauseMs(destination));
    case 'later':
      return { ...later(code, text, Math.max(timing.laterMs, leastMs)), counts: true };
  }
}

function rest(deps: SubmitDeps, number: SendingNumber, code: string, text: string, leastMs?: number): void {
  number.pause(leastMs);
  deps.alert(number, code, text);
}

type Retry = Extract<Outcome, { kind: 'retry' }>;

/** Messages that come back at the same time are queued together: delays are told in quarters of a second. */
const STEP_MS = 250;

const later = (code: string, text: string, afterMs: number): Retry => ({
  kind: 'retry',
  afterMs: Math.ceil(afterMs / STEP_MS) * STEP_MS,
  counts: false,
  code,
  text,
});

const NOT_SENT: Retry = later('NOT_SENT', 'The API could not be reached', 0);

const refused = (status: Refusal, elsewhere: boolean, code: string, text: string): Outcome => ({
  kind: 'refused',
  status,
  elsewhere,
  code,
  text,
  carrierIds: [],
});

/** For what this connection cannot send whatever the network says. */
export const notSendable = (text: string): Outcome => refused('ERROR', false, 'NOT_SENDABLE', text);
