import type { LookupFunction } from 'node:net';
import type { Carrier, CarrierHost, CarrierState, Inbound, Outcome, Submission } from '../carrier.ts';
import {
  createGate,
  createHttpClient,
  createLink,
  type HttpAnswer,
  type HttpClient,
  type HttpRequest,
  type Probed,
} from '../http-client.ts';
import { createThrottle } from '../throttle.ts';
import { compileEvents, type HttpSmsEvents } from './callbacks.ts';
import { compileRequests, sharedValues, valuesOf } from './request.ts';
import { createHider, type HttpSmsSecrets, type HttpSmsSettings, resolveSettings } from './settings.ts';
import { compileVerdict, sendMessage, type Timing, type Verdict } from './submit.ts';
import { compilePlace, toDocument } from './template.ts';

export type HttpSmsContext = {
  /** The URL that the carrier calls; null if there is none. */
  readonly callbackUrl: string | null;
  /** Resolves host names instead of the system, and only to addresses that the program may connect to. */
  readonly lookup?: LookupFunction;
  /** Returns true if the program may connect to an IP address that the settings give instead of a host name. */
  readonly isAllowed?: (address: string) => boolean;
};

const TIMING: Timing = { laterMs: 5000, resendMs: 1000, refusedMs: 30_000, probeBaseMs: 500, probeMaxMs: 30_000 };

/**
 * Creates a carrier that takes SMS over HTTP, as its settings or their preset describe. Each message is one request
 * with the whole text, which the carrier divides into parts itself. Receipts and inbound messages arrive as callbacks
 * (`callbacks.ts`), not through this carrier. Headers of user data and binary messages cannot be sent.
 *
 * An accepted message has the id in the carrier's response, or else ours. A message without a response has ours, in
 * case the carrier repeats it in receipts. `timing` is for tests.
 */
export function createHttpSmsCarrier(
  settings: HttpSmsSettings,
  secrets: HttpSmsSecrets,
  context: HttpSmsContext,
  timing: Partial<Timing> = {},
): Carrier {
  const resolved = resolveSettings(settings);
  const times = { ...TIMING, refusedMs: settings.faultPauseSeconds * 1000, ...timing };
  const { lookup, isAllowed } = context;
  let host: CarrierHost | null = null;
  const alerted = new Set<string>();
  const changed = (): void => host?.changed();
  const http = createHttpClient({
    connections: resolved.concurrency,
    connectTimeoutMs: resolved.connectTimeoutSeconds * 1000,
    timeoutMs: resolved.submitTimeoutSeconds * 1000,
    ...(lookup && { lookup }),
    ...(isAllowed && { isAllowed }),
  });
  const gate = createGate({ slots: resolved.concurrency, throttlePauseMs: resolved.throttlePauseMs }, changed);
  const throttle = createThrottle(resolved.throttlePauseMs, changed);
  const shared = sharedValues(resolved, secrets, context.callbackUrl);
  const requests = compileRequests(resolved, secrets);
  const failed = (reason: string): void => host?.failed(reason);
  const link = createLink(() => probeCarrier(http, requests.probe(shared), resolved), times, updateState, failed);

  function updateState(open: boolean, fault: string | null): void {
    gate.setOpen(open);
    if (fault !== null) host?.log('error', 'The credentials were refused', { reason: fault });
    // The room was 0 already, but the fault must become visible.
    changed();
  }

  function onVerdict(verdict: Verdict): void {
    if (verdict.act === 'accepted') {
      link.messageAccepted();
      alerted.clear();
    } else if (verdict.act === 'fault') link.refused(`${verdict.code} ${verdict.text}`);
    else if (verdict.act === 'unknown' || verdict.act === 'not-written') verifyLink(verdict.text);
    else if (verdict.act === 'refused' && verdict.elsewhere && !alerted.has(verdict.code)) {
      alerted.add(verdict.code);
      host?.log('error', 'The carrier refuses our messages', { code: verdict.code, text: verdict.text });
    }
  }

  function verifyLink(reason: string): void {
    if (gate.isOpen()) {
      host?.log('warn', 'The carrier did not respond', { reason });
      failed(reason);
    }
    link.verify();
  }

  const { idempotent, username } = resolved.request;
  const { resends, account } = resolved;
  const hide = createHider(secrets, { account, username });
  const deps = {
    http,
    gate,
    throttle,
    verdictOf: compileVerdict(resolved.answer, hide),
    idempotent,
    resends,
    timing: times,
    onVerdict,
  };

  function submit(submission: Submission): Promise<Outcome> {
    if (hasMoreThanText(submission)) return Promise.resolve(NOT_A_TEXT);
    return gate.pass(submission, (next) => {
      const request = requests.send(valuesOf(shared, resolved.request, next, Date.now()));
      return request === null ? Promise.resolve(BAD_HEADER) : sendMessage(deps, next, request);
    });
  }

  function state(): CarrierState {
    const up = gate.isOpen();
    return {
      up,
      bindsUp: up ? 1 : 0,
      bindsWanted: 1,
      allLinksUp: up,
      inFlight: gate.inFlight(),
      fault: link.fault(),
    };
  }

  return {
    channels: ['SMS'],
    start(newHost) {
      host = newHost;
      link.start();
    },
    room: () => (throttle.pauseMs() > 0 ? 0 : gate.room()),
    paceOf: () => throttle,
    submit,
    state,
    async stop(deadlineMs) {
      link.stop();
      await gate.drain(deadlineMs);
      throttle.stop();
      await http.close();
    },
  };
}

const notSendable = (text: string): Outcome => ({
  kind: 'refused',
  status: 'REJECTED',
  elsewhere: true,
  code: 'NOT_SENDABLE',
  text,
  carrierIds: [],
});

const hasMoreThanText = ({ udh, binary, content, dataCoding }: Submission): boolean =>
  [udh, binary, content, dataCoding].some((part) => part !== undefined);

const NOT_A_TEXT = notSendable('This carrier takes plain texts only');
const BAD_HEADER = notSendable('The message has characters that no header of the request can have');

const SHOWN_LENGTH = 1000;

/** Sample message, of which only the request is shown. */
const SAMPLE = {
  messageId: '00000000-0000-7000-8000-000000000000',
  destination: '+15005550006',
  sender: 'ACME',
  body: 'Hello',
  validUntil: null,
  wantReceipt: true,
} as const;

/**
 * Returns the request of a sample message, which is not sent, and the response to the request that probes the carrier;
 * both with secrets hidden. Never rejects.
 */
export async function showExchange(
  settings: HttpSmsSettings,
  secrets: HttpSmsSecrets,
  { callbackUrl, lookup, isAllowed }: HttpSmsContext,
): Promise<{ request: string; answer: string }> {
  const resolved = resolveSettings(settings);
  const shared = sharedValues(resolved, secrets, callbackUrl);
  const requests = compileRequests(resolved, secrets);
  const http = createHttpClient({
    connections: 1,
    connectTimeoutMs: resolved.connectTimeoutSeconds * 1000,
    timeoutMs: Math.min(10, resolved.submitTimeoutSeconds) * 1000,
    ...(lookup && { lookup }),
    ...(isAllowed && { isAllowed }),
  });
  const hide = createHider(secrets, { account: resolved.account, username: resolved.request.username });
  const probe = requests.probe(shared);
  const answer = await http.request(probe);
  await http.close();
  const sent = requests.send(valuesOf(shared, resolved.request, SAMPLE, Date.now()));
  return {
    request: hide(sent === null ? 'a header of the request would have characters that it cannot have' : show(sent)),
    answer: hide(`${probe.method} ${probe.origin}${probe.path}\n${showAnswer(answer)}`),
  };
}

const show = ({ method, origin, path, headers, body }: HttpRequest): string =>
  [
    `${method} ${origin}${path}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    ...(body === undefined ? [] : ['', String(body)]),
  ].join('\n');

const showAnswer = (answer: HttpAnswer): string =>
  answer.kind === 'failed'
    ? answer.reason
    : `${answer.status}\n\n${answer.body.toString('utf8').replaceAll('\0', '').slice(0, SHOWN_LENGTH)}`.trim();

/** Result of a request for events. */
export type Polled =
  | (HttpSmsEvents & {
      readonly kind: 'events';
      /** Cursor for the next request; that of this request if the response names none. */
      readonly cursor: string;
      /** True if the cursor differs from the previous one. */
      readonly hasMoved: boolean;
    })
  | { readonly kind: 'failed'; readonly reason: string };

/** Fetches the events of a carrier without callbacks. */
export type Poller = {
  /** The pause after a response without events. */
  readonly intervalMs: number;
  /** Maximum time of one request. */
  readonly timeoutMs: number;
  /** Fetches the events after a cursor; null starts from the beginning. Never rejects. */
  poll(cursor: string | null): Promise<Polled>;
  /**
   * Confirms to the carrier that everything up to this cursor is stored. Resolves with an error text, or null. Never
   * rejects.
   */
  confirm(cursor: string): Promise<string | null>;
  close(): Promise<void>;
};

/** Older callbacks count as replayed by an attacker; polled events may be older, because they waited for us. */
const MAX_AGE_MS = 7 * 24 * 3_600_000;

function withoutOldTime(inbound: Inbound): Inbound {
  const { rich } = inbound;
  if (!rich?.at || rich.at.getTime() > Date.now() - MAX_AGE_MS) return inbound;
  return { ...inbound, rich: { ...rich, at: null } };
}

/** Creates the poller of a connection; null if its carrier sends callbacks. */
export function createPoller(
  settings: HttpSmsSettings,
  secrets: HttpSmsSecrets,
  { callbackUrl, lookup, isAllowed }: HttpSmsContext,
): Poller | null {
  const resolved = resolveSettings(settings);
  const { poll, connectTimeoutSeconds, submitTimeoutSeconds } = resolved;
  if (!poll) return null;
  const timeoutMs = submitTimeoutSeconds * 1000;
  const http = createHttpClient({
    connections: 1,
    connectTimeoutMs: connectTimeoutSeconds * 1000,
    timeoutMs,
    ...(lookup && { lookup }),
    ...(isAllowed && { isAllowed }),
  });
  const shared = sharedValues(resolved, secrets, callbackUrl);
  const requestOf = (path: string, cursor: string) =>
    compileRequests({ ...resolved, probePath: path }, secrets).probe({ ...shared, cursor });
  const readEvents = compileEvents(resolved);
  const readCursor = compilePlace(poll.cursor);
  const isTaken = (status: number): boolean => status >= 200 && status <= 299;
  return {
    intervalMs: poll.intervalSeconds * 1000,
    timeoutMs,
    async poll(cursor) {
      const from = cursor ?? poll.start;
      const answer = await http.request(requestOf(poll.path, from));
      if (answer.kind === 'failed') return answer;
      if (!isTaken(answer.status)) return { kind: 'failed', reason: `The carrier returned ${answer.status}` };
      const document = toDocument(answer.body, answer.headers);
      const events = readEvents(document);
      if (events === null) return { kind: 'failed', reason: 'The response has too many events' };
      const { receipts, inbounds } = events;
      const named = readCursor(document);
      if (document.json === undefined && named === '') return { kind: 'failed', reason: 'The response is not JSON' };
      const next = named || from;
      return {
        kind: 'events',
        receipts,
        inbounds: inbounds.map(withoutOldTime),
        cursor: next,
        hasMoved: next !== from,
      };
    },
    async confirm(cursor) {
      if (poll.confirm === undefined) return null;
      const answer = await http.request({ ...requestOf(poll.confirm, cursor), method: 'DELETE' });
      if (answer.kind === 'failed') return answer.reason;
      return isTaken(answer.status) ? null : `The carrier returned ${answer.status}`;
    },
    close: http.close,
  };
}

/**
 * Finds out if the carrier is reachable, by a request that sends nothing. Any response counts, except 401 to a request
 * with credentials: keys may be allowed to send and nothing else. Never rejects.
 */
async function probeCarrier(
  http: HttpClient,
  request: HttpRequest,
  { probePath }: { readonly probePath?: string | undefined },
): Promise<Probed> {
  return probedBy(await http.request({ ...request, timeoutMs: PROBE_MS }), probePath !== undefined);
}

const PROBE_MS = 10_000;

/** Interprets the response to a probe. */
function probedBy(answer: HttpAnswer, hasCredentials: boolean): Probed {
  // A response that is too long is a response, too.
  if (answer.kind === 'failed')
    return { state: answer.tooLarge === true ? 'available' : 'unreachable', text: answer.reason };
  const text = `The carrier returned ${answer.status}`;
  if (answer.status === 401 && hasCredentials)
    return { state: 'refused', text: `${text}: the credentials are not valid` };
  return { state: answer.status >= 500 ? 'unreachable' : 'available', text };
}
