import { setTimeout as delay } from 'node:timers/promises';
import { isUserId, personOf, toE164 } from '../../core/phone.ts';
import type { Carrier, CarrierHost, CarrierState, Outcome, SignToPerson, Submission } from '../carrier.ts';
import { createGate, createLink, type Gate, retryAfterMs } from '../http-client.ts';
import { getList, getText } from '../settings.ts';
import { NO_LIMIT, type Pace } from '../throttle.ts';
import { createNumbers, probeApi, readSuccess, type SendingNumber } from './account.ts';
import {
  callAndRead,
  classOf,
  classOfHttp,
  createCopies,
  createGraphClient,
  errorIn,
  explain,
  type GraphAnswer,
  type GraphClient,
  sendWithCopy,
} from './client.ts';
import type { ErrorClass, Refusal } from './error-table.ts';
import type { WhatsappSecrets, WhatsappSettings } from './settings.ts';

const TIMING: Timing = {
  repeatMs: [1000, 4000],
  laterMs: 5000,
  holdMs: 30_000,
  probeBaseMs: 500,
  probeMaxMs: 30_000,
  tokenRetryMs: 30_000,
};

/**
 * Creates a carrier that is reached over the WhatsApp Cloud API (developers.facebook.com/docs/whatsapp/cloud-api). A
 * submission's sender is the id of one of the numbers in the settings. Receipts and inbound messages arrive as
 * callbacks (`callbacks.ts`), not through this carrier.
 *
 * An accepted message has the network's id. A message that was written without a response has our own id, which the
 * network repeats in every status. `timing` is for tests.
 */
export function createWhatsappCarrier(
  settings: WhatsappSettings,
  secrets: WhatsappSecrets,
  timing: Partial<Timing> = {},
): Carrier {
  const times = { ...TIMING, ...timing };
  let host: CarrierHost | null = null;
  const changed = (): void => host?.changed();
  const client = createGraphClient(settings, secrets);
  const gate = createGate({ slots: settings.concurrency, throttlePauseMs: settings.throttlePauseMs }, changed);
  const numbers = createNumbers(settings, changed);
  const copies = createCopies(client, (level, message, fields) => host?.log(level, message, fields));
  const failed = (reason: string): void => host?.failed(reason);
  const linkTiming = { ...times, refusedMs: times.tokenRetryMs };
  const link = createLink(() => probeApi(client), linkTiming, updateState, failed);

  function updateState(open: boolean, fault: string | null): void {
    gate.setOpen(open);
    if (fault !== null) host?.log('error', 'The access token was refused', { reason: fault });
    // The room was 0 already, but the fault must become visible.
    changed();
  }

  function alert(number: SendingNumber, code: string, text: string): void {
    const isNew = number.fault() === null;
    number.setFault(`${number.id}: ${code} ${text}`);
    if (isNew) host?.log('error', 'The network refuses this number', { phoneNumberId: number.id, code, text });
  }

  function verifyLink(reason: string): void {
    if (gate.isOpen()) {
      host?.log('warn', 'The API did not respond', { reason });
      failed(reason);
    }
    link.verify();
  }

  const { refused: tokenRefused, messageAccepted } = link;
  const deps = { client, gate, timing: times, tokenRefused, messageAccepted, verifyLink, alert };

  function start(newHost: CarrierHost): void {
    host = newHost;
    link.start();
  }

  function submit(submission: Submission): Promise<Outcome> {
    const number = numbers.get(submission.sender);
    if (!number) return Promise.resolve(notSendable(`This connection does not have the number ${submission.sender}`));
    if (submission.content && submission.content.channel !== 'WHATSAPP') {
      return Promise.resolve(notSendable('The content does not belong to this channel'));
    }
    return gate.pass(submission, (next) =>
      sendWithCopy(copies, number.id, next, (message) => sendMessage(deps, number, message)),
    );
  }

  function state(): CarrierState {
    const up = gate.isOpen();
    const fault = link.fault() ?? numbers.firstFault();
    const bindsWanted = settings.phoneNumberIds.length;
    return {
      up,
      bindsUp: up ? numbers.countHealthy() : 0,
      bindsWanted,
      allLinksUp: up,
      inFlight: gate.inFlight(),
      fault,
    };
  }

  async function stop(deadlineMs: number): Promise<void> {
    link.stop();
    await gate.drain(deadlineMs);
    numbers.stop();
    await client.close();
  }

  const room = (): number => (numbers.allPaused() ? 0 : gate.room());
  const paceOf = (sender: string): Pace => numbers.get(sender)?.pace ?? NO_LIMIT;
  const show = (sign: SignToPerson): Promise<boolean | null> => showToPerson(client, sign);
  return { channels: ['WHATSAPP'], start, room, paceOf, submit, show, state, stop };
}

/**
 * Marks a message, and those before it, as read. With a typing indicator, which ends with the reply or after 25 s, it
 * is marked as read too (developers.facebook.com/docs/whatsapp/cloud-api/typing-indicators).
 */
async function showToPerson(client: GraphClient, { kind, sender, networkId }: SignToPerson): Promise<boolean | null> {
  const json = {
    messaging_product: 'whatsapp',
    status: 'read',
    message_id: networkId,
    ...(kind === 'typing' && { typing_indicator: { type: 'text' } }),
  };
  const answer = await callAndRead(client, { method: 'POST', path: `/${sender}/messages`, json }, readSuccess);
  return answer.ok || (answer.fault.retry ? null : false);
}

/** Dependencies for sending a message. */
type SubmitDeps = {
  readonly client: GraphClient;
  readonly gate: Gate;
  readonly timing: Timing;
  /** Called when the network no longer accepts the token. */
  readonly tokenRefused: (text: string) => void;
  /** Called when the network took a message. */
  readonly messageAccepted: () => void;
  /** Called if no response came: the link must be probed before more is sent. */
  readonly verifyLink: (reason: string) => void;
  /** Called when the operator must act on a number or on the account. */
  readonly alert: (number: SendingNumber, code: string, text: string) => void;
};

/** Delays, which tests shorten. */
export type Timing = {
  /** The delays before a message is sent again that failed for a reason unknown to the network. */
  readonly repeatMs: readonly number[];
  /** The delay for a message that the network cannot take now. */
  readonly laterMs: number;
  /** The delay for a message that waits for the operator to act. */
  readonly holdMs: number;
  /** The first delay between two probes of the link; it doubles up to `probeMaxMs`. */
  readonly probeBaseMs: number;
  readonly probeMaxMs: number;
  /** The delay between two probes after the token was rejected. */
  readonly tokenRetryMs: number;
};

type Verdict =
  | { readonly kind: 'done'; readonly outcome: Outcome }
  | {
      readonly kind: 'error';
      readonly errorClass: ErrorClass;
      readonly code: string;
      readonly text: string;
      /** The text for operators, including the action required. */
      readonly advice: string;
      readonly minPauseMs: number;
    };

/**
 * Sends one message from one number and resolves with its outcome (Cloud API, messages and error codes). The network
 * supports no idempotency key: a message that was written without a response is `unknown`, and is not resent here.
 */
async function sendMessage(deps: SubmitDeps, number: SendingNumber, submission: Submission): Promise<Outcome> {
  const body = messageOf(submission);
  if (body === null) return notSendable('WhatsApp cannot carry binary messages');
  const pauseMs = number.pauseMs();
  if (pauseMs > 0) return later('PAUSED', `The number is paused: ${number.fault() ?? 'too many messages'}`, pauseMs);
  const turnMs = number.takeTurn();
  if (turnMs > 0 && !(await waitUnlessStopping(turnMs, deps.gate))) return NOT_SENT;
  for (const repeatMs of [...deps.timing.repeatMs, null]) {
    const ticket = number.begin();
    const verdict = readAnswer(await post(deps, number, edgeFor(deps, submission), body), submission);
    if (verdict.kind === 'done') return finish(deps, number, submission, { ...verdict, ticket });
    if (verdict.errorClass.act !== 'repeat' || repeatMs === null)
      return applyError(deps, number, submission, { ...verdict, ticket });
    if (!(await waitUnlessStopping(repeatMs, deps.gate))) return later(verdict.code, verdict.text, 0);
  }
  return NOT_SENT;
}

const post = ({ client }: SubmitDeps, { id }: SendingNumber, edge: string, json: object): Promise<GraphAnswer> =>
  client.call({ method: 'POST', path: `/${id}/${edge}`, json });

/** Both edges take the same message and report it in the same way. */
const edgeFor = ({ client }: SubmitDeps, { content }: Submission): string =>
  client.settings.marketingApi && content?.channel === 'WHATSAPP' && content.marketing
    ? 'marketing_messages'
    : 'messages';

/** Waits; resolves with false if the carrier stops meanwhile. */
async function waitUnlessStopping(ms: number, { stopping }: Gate): Promise<boolean> {
  try {
    await delay(ms, undefined, { signal: stopping });
    return true;
  } catch {
    return false;
  }
}

/**
 * Builds the body of the request; statuses return `biz_opaque_callback_data`. Null for a message that cannot be
 * represented. A user id in `to` would be read as a number: the message would be accepted and lost (chatwoot#15150).
 */
function messageOf({ messageId, destination, body, content, binary }: Submission): object | null {
  if (binary) return null;
  const message =
    content?.channel === 'WHATSAPP' ? content.message : { type: 'text', text: { body, preview_url: false } };
  return {
    ...message,
    messaging_product: 'whatsapp',
    recipient_type: 'individual',
    ...(isUserId(destination) ? { recipient: destination } : { to: destination }),
    biz_opaque_callback_data: messageId,
  };
}

function readAnswer(answer: GraphAnswer, submission: Submission): Verdict {
  const { messageId } = submission;
  if (answer.kind === 'failed') {
    return { kind: 'done', outcome: answer.written ? unknown(answer.reason, messageId) : NOT_SENT };
  }
  const { status, json, headers } = answer;
  const error = errorIn(json);
  const minPauseMs = retryAfterMs(headers);
  if (error) {
    const errorClass = classOf(error, status);
    return {
      kind: 'error',
      errorClass,
      code: String(error.code),
      text: error.text,
      advice: explain(error),
      minPauseMs,
    };
  }
  if (status >= 200 && status <= 299) return { kind: 'done', outcome: accepted(json, submission) };
  // A proxy in front of the API returns 5xx too, and then the message may or may not have reached the API.
  const text = `The API returned ${status} with an unexpected body`;
  if (status >= 500) return { kind: 'done', outcome: unknown(text, messageId) };
  return { kind: 'error', errorClass: classOfHttp(status), code: `HTTP_${status}`, text, advice: text, minPauseMs };
}

function accepted(json: unknown, { messageId, destination }: Submission): Outcome {
  const [message] = getList(json, 'messages');
  const id = getText(message, 'id');
  if (id === '') return unknown('The API responded without a message id', messageId);
  const status = getText(message, 'message_status');
  const aliases = aliasesIn(json, destination);
  return {
    kind: 'accepted',
    carrierIds: [id],
    ...(HELD_STATUSES.includes(status) && { held: status }),
    ...(aliases.length > 0 && { aliases }),
  };
}

/**
 * Returns the addresses by which the network knows the recipient, other than the one that we sent to: `wa_id` is the
 * number with which the person once signed up (Cloud API, messages).
 */
function aliasesIn(json: unknown, destination: string): readonly string[] {
  const [contact] = getList(json, 'contacts');
  const [number, userId] = [`+${getText(contact, 'wa_id')}`, getText(contact, 'user_id')];
  const isOther = number !== destination && !isUserId(destination) && toE164(number) === number;
  if (!isOther && (userId === '' || userId === destination)) return NO_ALIASES;
  return [
    ...(isOther && personOf(number) !== personOf(destination) ? [number] : []),
    ...(isUserId(userId) && userId !== destination ? [userId] : []),
  ];
}
const NO_ALIASES: readonly string[] = [];

/** The statuses of messages that the network holds back while it paces a new template: they are sent later, or fail. */
const HELD_STATUSES: readonly string[] = ['held_for_quality_assessment', 'paused'];

/** The message is known only by our id: a status that names it settles the outcome. */
const unknown = (text: string, messageId: string): Outcome => ({ kind: 'unknown', text, carrierIds: [messageId] });

function finish(
  deps: SubmitDeps,
  number: SendingNumber,
  { destination }: Submission,
  { outcome, ticket }: { outcome: Outcome; ticket: number },
): Outcome {
  if (outcome.kind === 'accepted') {
    number.messageAccepted(destination, ticket);
    deps.gate.messageAccepted();
    deps.messageAccepted();
  } else if (outcome.kind === 'unknown' || outcome === NOT_SENT) {
    deps.verifyLink(outcome.text);
  }
  return outcome;
}

function applyError(
  deps: SubmitDeps,
  number: SendingNumber,
  { destination }: Submission,
  { errorClass, code, text, advice, minPauseMs, ticket }: Extract<Verdict, { kind: 'error' }> & { ticket: number },
): Outcome {
  const { gate, timing } = deps;
  switch (errorClass.act) {
    case 'refuse':
      if (errorClass.blames === 'account') pauseAndAlert(deps, number, code, advice);
      return refused(errorClass.status, errorClass.blames === 'account', code, text);
    case 'repeat':
      return refused('ERROR', false, code, text);
    case 'token':
      deps.tokenRefused(advice);
      return later(code, text, timing.tokenRetryMs);
    case 'hold':
      pauseAndAlert(deps, number, code, advice, timing.holdMs);
      return { ...later(code, text, timing.holdMs), counts: true };
    case 'busy': {
      const isRateLimit = errorClass.scope === 'number' && !errorClass.counts && errorClass.minPauseMs === 0;
      if (isRateLimit) return later(code, text, number.tooMany(ticket, minPauseMs));
      const paused = errorClass.scope === 'number' ? number : gate;
      paused.pause(Math.max(errorClass.minPauseMs, minPauseMs));
      return { ...later(code, text, paused.pauseMs()), counts: errorClass.counts };
    }
    case 'pair':
      return later(code, text, number.pairPauseMs(destination));
    case 'later':
      return { ...later(code, text, Math.max(timing.laterMs, minPauseMs)), counts: true };
  }
}

function pauseAndAlert(deps: SubmitDeps, number: SendingNumber, code: string, text: string, minMs?: number): void {
  number.pause(minMs);
  deps.alert(number, code, text);
}

type Retry = Extract<Outcome, { kind: 'retry' }>;

/** Messages that return at the same time are queued together, so delays are rounded up to quarters of a second. */
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

/** The outcome of a message that this connection can never send. */
const notSendable = (text: string): Outcome => refused('ERROR', false, 'NOT_SENDABLE', text);
