import { isIP } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { encodePdu, type Pdu, type PduOf } from '../../smpp/pdu.ts';
import { STATUS, statusName } from '../../smpp/status.ts';
import { concatOf, textOf, userData } from '../../smpp/text.ts';
import { NO_TLVS } from '../../smpp/wire.ts';
import type { CarrierHost } from '../carrier.ts';
import { type Answer, type Connection, type ConnectionOptions, openConnection } from './connection.ts';
import { isReceipt, readReceipt } from './receipts.ts';
import type { SmppSettings } from './settings.ts';

/** The kinds of binds. */
export type BindKind = 'transceiver' | 'transmitter' | 'receiver';
/** A message from the carrier: a receipt or an inbound message. */
type Delivery = PduOf<'deliver_sm'> | PduOf<'data_sm'>;

/** Reconnect delays; tests shorten them. */
export type Timing = {
  readonly reconnectBaseMs: number;
  readonly reconnectMaxMs: number;
  /** A bind that was up for this long reconnects with the shortest delay. */
  readonly stableMs: number;
  /**
   * The delay after a wrong password or system id: the operator must act, and frequent attempts get an account locked.
   */
  readonly faultRetryMs: number;
  /**
   * The delay after a bind that left submits unanswered, doubled each time up to `faultRetryMs`. Longer than the time
   * after which waiting messages move to another connection.
   */
  readonly stuckRetryMs: number;
};

/** The delays used in production. */
export const TIMING: Timing = {
  reconnectBaseMs: 1000,
  reconnectMaxMs: 60_000,
  stableMs: 60_000,
  faultRetryMs: 300_000,
  stuckRetryMs: 60_000,
};

/** Settings with which one bind connects. */
type SessionOptions = {
  readonly kind: BindKind;
  readonly settings: SmppSettings;
  readonly password: string;
  readonly timing: Timing;
};

/** Events that a session reports to its carrier. */
type SessionEvents = {
  /** The result of `up()`, `writable()` or `fault()` may have changed. */
  changed(): void;
  /** The carrier sent a message. `answer` must be called once, with the command_status of the response. */
  deliver(delivery: Delivery, answer: (status: number) => void): void;
  failed: CarrierHost['failed'];
  log: CarrierHost['log'];
};

/** One bind that is kept up: it connects, binds, and reconnects when it ends. */
export type Session = {
  readonly kind: BindKind;
  /** Starts connecting. */
  start(): void;
  /** Returns true if the session is bound and not closing. */
  up(): boolean;
  /** Returns false while the peer does not read fast enough. */
  writable(): boolean;
  /** Returns the number of messages that it takes at a time: the window, or one as long as it is stuck. */
  window(): number;
  /** Returns true if it was closed because it left submits unanswered, and has answered none since. */
  stuck(): boolean;
  /**
   * Returns the reason why the operator must act while the carrier rejects the credentials or its certificate is not
   * trusted; else null.
   */
  fault(): string | null;
  /** Sends a request over the bind. Without a connection the result is `closed` and not written. */
  request(frame: Buffer, onAnswer: (answer: Answer) => void): void;
  /** Takes no new requests, waits for the outstanding responses, unbinds and binds again. */
  rebind(reason: string): void;
  /** Unbinds gracefully within `deadlineMs` and does not reconnect. */
  stop(deadlineMs: number): Promise<void>;
};

/** Reason why a bind ended. `fault` is true if the operator must act. */
type SessionEnd = { readonly reason: string; readonly fault: boolean };

const STUCK = 'the carrier does not answer submits';

const NOT_CONNECTED: Answer = { kind: 'closed', written: false };
const FATAL_BIND_STATUS: ReadonlySet<number> = new Set([
  STATUS.ESME_RINVSYSID,
  STATUS.ESME_RINVPASWD,
  STATUS.ESME_RINVSYSTYP,
]);
/** Time limit for outstanding responses after the peer's unbind. */
const PEER_UNBIND_GRACE_MS = 1000;
const MS = 1000;

/**
 * Creates a session that keeps one bind up (SMPP 3.4, 2.2). Throws a RangeError if a credential does not fit its field.
 */
export function createSession(options: SessionOptions, events: SessionEvents): Session {
  const { kind, settings, timing } = options;
  const submitTimeoutMs = settings.submitTimeoutSeconds * MS;
  const bindRequest = encodeBind(options);
  const stopping = new AbortController();
  let connection: Connection | null = null;
  let bound = false;
  let closing = false;
  let fault: string | null = null;
  let openRequests = 0;
  let openDeliveries = 0;
  let consecutiveTimeouts = 0;
  /** Number of consecutive binds that were closed because no submit was answered. */
  let timesStuck = 0;
  let resolveIdle: () => void = () => undefined;
  let ended: Promise<void> = Promise.resolve();

  async function run(): Promise<void> {
    let failures = 0;
    while (!stopping.signal.aborted) {
      const since = performance.now();
      const end = await runConnection();
      if (stopping.signal.aborted) return;
      if (performance.now() - since > timing.stableMs) failures = 0;
      const retryInMs = end.fault ? timing.faultRetryMs : Math.max(stuckMs(end), backoffMs(failures, timing));
      failures += 1;
      events.failed(end.reason);
      events.log('warn', 'SMPP bind is down', { bind: kind, reason: end.reason, retryInMs });
      await sleep(retryInMs, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  }

  const stuckMs = ({ reason }: SessionEnd): number =>
    reason === STUCK ? Math.min(timing.faultRetryMs, timing.stuckRetryMs * 2 ** (timesStuck - 1)) : 0;

  /** Runs one connection from its start to its end. */
  async function runConnection(): Promise<SessionEnd> {
    const current = openConnection(connectionOptions(settings), { request: receive, drained: events.changed });
    connection = current;
    const problem = await bind(current);
    setFault(problem?.fault ? problem.reason : null);
    if (problem) current.close(problem.reason);
    else markUp();
    const { reason, unmatchedResponses } = await current.closed;
    if (unmatchedResponses > 0) {
      events.log('warn', 'SMPP responses matched no request', { bind: kind, count: unmatchedResponses });
    }
    markDown();
    return problem ?? { reason, fault: false };
  }

  async function bind(current: Connection): Promise<SessionEnd | null> {
    if (await current.opened) return bindProblem(await current.request(bindRequest, settings.bindTimeoutSeconds * MS));
    const { reason, untrusted } = await current.closed;
    return { reason, fault: untrusted };
  }

  function markUp(): void {
    bound = true;
    consecutiveTimeouts = 0;
    events.log('info', 'SMPP bind is up', { bind: kind });
    events.changed();
  }

  function markDown(): void {
    bound = false;
    closing = false;
    connection = null;
    resolveIdle();
    events.changed();
  }

  function setFault(text: string | null): void {
    if (fault === text) return;
    fault = text;
    if (text !== null) events.log('error', 'SMPP bind is refused', { bind: kind, fault: text });
    events.changed();
  }

  function request(frame: Buffer, onAnswer: (answer: Answer) => void): void {
    if (!connection) return onAnswer(NOT_CONNECTED);
    openRequests += 1;
    connection.requestWithCallback(frame, submitTimeoutMs, (answer) => {
      openRequests -= 1;
      watchTimeouts(answer);
      resolveIfIdle();
      onAnswer(answer);
    });
  }

  /**
   * Watches submit timeouts. A live link proves nothing about submits: as long as none is answered, each new bind is
   * tried with one.
   */
  function watchTimeouts({ kind: answered }: Answer): void {
    if (answered === 'response' && timesStuck > 0) {
      timesStuck = 0;
      events.changed();
    }
    consecutiveTimeouts = answered === 'timeout' ? consecutiveTimeouts + 1 : 0;
    const limit = timesStuck > 0 ? 1 : Math.min(settings.window, settings.maxSubmitTimeouts);
    if (consecutiveTimeouts < limit || closing) return;
    timesStuck += 1;
    events.failed(STUCK);
    events.log('error', 'SMPP bind answers no submits', { bind: kind, timeouts: consecutiveTimeouts });
    rebind(STUCK);
  }

  function receive(pdu: Pdu): void {
    switch (pdu.command) {
      case 'deliver_sm':
      case 'data_sm':
        receiveDelivery(pdu);
        return;
      case 'unbind':
        connection?.send({ command: 'unbind_resp', status: 0, sequence: pdu.sequence });
        void closeWhenIdle('the carrier unbound', PEER_UNBIND_GRACE_MS);
        return;
      case 'alert_notification':
      case 'outbind':
        return;
      default:
        connection?.send({ command: 'generic_nack', status: STATUS.ESME_RINVCMDID, sequence: pdu.sequence });
    }
  }

  /** Accepts deliveries even before `bound`: the first one may arrive in the same segment as the bind response. */
  function receiveDelivery(delivery: Delivery): void {
    events.deliver(delivery, answerTo(delivery));
  }

  /** Returns the responder of a delivery. Keeps only its sequence number, not its octets. */
  function answerTo({ command, sequence }: Delivery): (status: number) => void {
    const current = connection;
    const response = command === 'deliver_sm' ? 'deliver_sm_resp' : 'data_sm_resp';
    openDeliveries += 1;
    return (status) => {
      openDeliveries -= 1;
      current?.send({ command: response, status, sequence, messageId: '', tlvs: NO_TLVS });
      resolveIfIdle();
    };
  }

  function resolveIfIdle(): void {
    if (openRequests === 0 && openDeliveries === 0) resolveIdle();
  }

  /** Resolves when no request or delivery is open, when the connection has ended, or after `limitMs`. */
  function waitUntilIdle(limitMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, limitMs);
      resolveIdle = () => {
        clearTimeout(timer);
        resolve();
      };
      resolveIfIdle();
    });
  }

  /** Takes no new requests, and closes the connection as soon as nothing is open, at the latest after `graceMs`. */
  async function closeWhenIdle(reason: string, graceMs: number, unbindRequest?: Buffer): Promise<void> {
    const current = connection;
    if (closing || !current) return;
    closing = true;
    events.changed();
    const until = performance.now() + graceMs;
    await waitUntilIdle(graceMs);
    if (unbindRequest && bound) await current.request(unbindRequest, Math.max(0, until - performance.now()));
    current.close(reason);
  }

  function rebind(reason: string): void {
    void closeWhenIdle(reason, submitTimeoutMs, encodeUnbind());
  }

  async function stop(deadlineMs: number): Promise<void> {
    stopping.abort();
    void closeWhenIdle('stopped', deadlineMs, encodeUnbind());
    const deadline = setTimeout(() => connection?.close('stopped', 0), deadlineMs);
    await ended;
    clearTimeout(deadline);
  }

  return {
    kind,
    request,
    rebind,
    stop,
    start: () => {
      ended = run();
    },
    up: () => bound && !closing,
    writable: () => connection?.writable() ?? false,
    window: () => (timesStuck > 0 ? 1 : settings.window),
    stuck: () => timesStuck > 0,
    fault: () => fault,
  };
}

function connectionOptions(settings: SmppSettings): ConnectionOptions {
  const { host, port, tls, tlsCa, tlsServername, tlsInsecure } = settings;
  const timeouts = [settings.enquireSeconds, settings.submitTimeoutSeconds, settings.bindTimeoutSeconds];
  const servername = tlsServername ?? (isIP(host) ? undefined : host);
  return {
    host,
    port,
    tls: tls ? { ca: tlsCa, servername, insecure: tlsInsecure } : null,
    connectTimeoutMs: settings.bindTimeoutSeconds * MS,
    enquireMs: settings.enquireSeconds * MS,
    sweepMs: Math.min(MS, (Math.min(...timeouts) * MS) / 5),
  };
}

function encodeBind({ kind, settings, password }: SessionOptions): Buffer {
  const { systemId, systemType, interfaceVersion, addressRange } = settings;
  return encodePdu({
    command: `bind_${kind}`,
    status: 0,
    sequence: 0,
    systemId,
    password,
    systemType,
    interfaceVersion,
    addrTon: 0,
    addrNpi: 0,
    addressRange,
  });
}

function encodeUnbind(): Buffer {
  return encodePdu({ command: 'unbind', status: 0, sequence: 0 });
}

function bindProblem(answer: Answer): SessionEnd | null {
  if (answer.kind !== 'response') return { reason: `bind: ${answer.kind}`, fault: false };
  const { status, command } = answer.pdu;
  if (status === STATUS.ESME_ROK && command !== 'generic_nack') return null;
  return { reason: `The carrier refused the bind: ${statusName(status)}`, fault: FATAL_BIND_STATUS.has(status) };
}

/**
 * Returns the delay of a reconnect, which doubles with each failure, with random jitter down to half, so that many
 * binds do not reconnect at the same time.
 */
function backoffMs(failures: number, timing: Timing): number {
  const fullMs = Math.min(timing.reconnectMaxMs, timing.reconnectBaseMs * 2 ** failures);
  return fullMs * (0.5 + Math.random() / 2);
}

/**
 * Maximum deliveries waiting at the host; beyond it, the carrier is asked to send further ones later: its queue is on
 * disk, ours is not.
 */
const MAX_AT_HOST = 10_000;
const IA5 = 1;
const NO_OCTETS = new Uint8Array(0);

/** Responds to the carrier with a command_status. */
type DeliveryAnswer = (status: number) => void;

/** The deliveries of one carrier on their way to the host. */
export type Deliveries = {
  /** Passes a delivery to the host, and responds with the command_status once the host has committed it. */
  handle(delivery: Delivery, answer: DeliveryAnswer): void;
  /** Rejects all further deliveries with a temporary error, so that the carrier keeps them. */
  stop(): void;
};

/** Creates the path of receipts and inbound messages to the host (SMPP 3.4, 4.6 and appendix B). */
export function createDeliveries(settings: SmppSettings, host: CarrierHost): Deliveries {
  let atHost = 0;
  let stopping = false;
  /** The last promise that the host returned, and the responses that wait for it. */
  let last: { readonly stored: Promise<void>; readonly answers: DeliveryAnswer[] } | null = null;

  function handle(delivery: Delivery, answer: DeliveryAnswer): void {
    if (stopping || atHost >= MAX_AT_HOST) return answer(STATUS.ESME_RX_T_APPN);
    atHost += 1;
    try {
      answerWhenStored(passToHost(delivery), answer);
    } catch (error) {
      refuse(error, answer);
    }
  }

  /**
   * Responds once the delivery is stored. Deliveries that the host stores together share one promise, and so one
   * reaction. The deliveries themselves are not kept: many wait here, and each would retain the octets that it was read
   * from.
   */
  function answerWhenStored(stored: Promise<void>, answer: DeliveryAnswer): void {
    if (last?.stored === stored) return void last.answers.push(answer);
    const answers = [answer];
    const group = { stored, answers };
    last = group;
    const finishAll = (finishOne: (answer: DeliveryAnswer) => void): void => {
      if (last === group) last = null;
      answers.forEach(finishOne);
    };
    void stored.then(
      () => finishAll((one) => finish(STATUS.ESME_ROK, one)),
      (error: unknown) => finishAll((one) => refuse(error, one)),
    );
  }

  function refuse(error: unknown, answer: DeliveryAnswer): void {
    host.log('warn', 'A delivery was not stored and will be sent again', { reason: String(error) });
    finish(STATUS.ESME_RX_T_APPN, answer);
  }

  function finish(status: number, answer: DeliveryAnswer): void {
    atHost -= 1;
    answer(status);
  }

  function passToHost(delivery: Delivery): Promise<void> {
    const message = delivery.command === 'deliver_sm' ? delivery : { ...delivery, shortMessage: NO_OCTETS };
    if (!isReceipt(message, settings.dlrWithoutEsmClass)) {
      const isIa5 = settings.ia5AsDefault && message.dataCoding === IA5;
      return host.inbound({
        source: message.source,
        destination: message.destination,
        text: textOf(isIa5 ? { ...message, dataCoding: 0 } : message, settings.defaultAlphabet),
        concat: concatOf(message),
        raw: Uint8Array.from(userData(message)),
      });
    }
    const receipt = readReceipt(message, settings);
    if (receipt) return host.receipt(receipt);
    host.log('warn', 'A receipt without an id was dropped', { octets: Buffer.from(userData(message)).toString('hex') });
    return Promise.resolve();
  }

  return {
    handle,
    stop: () => {
      stopping = true;
    },
  };
}
