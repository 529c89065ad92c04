import { once } from 'node:events';
import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import tls from 'node:tls';
import { type AnyPduOf, encodePdu } from '../../smpp/pdu.ts';
import { type Answer, type BindMode, openSession, type SmppSession } from '../../smpp/session.ts';
import { STATUS, statusName } from '../../smpp/status.ts';
import { concatOf, textOf, userData } from '../../smpp/text.ts';
import { NO_TLVS, readText, readUint, TAG, type Tlvs } from '../../smpp/wire.ts';
import type { CarrierHost } from '../carrier.ts';
import { compileReceiptTlvs } from '../message-tlvs.ts';
import { isReceipt, readReceipt } from './receipts.ts';
import type { SmppSettings } from './settings.ts';

const SERVES = ['deliver_sm', 'data_sm'] as const;
/** A message from the carrier: a receipt or an inbound message. */
type Delivery = AnyPduOf<(typeof SERVES)[number]>;

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
  readonly kind: BindMode;
  readonly settings: SmppSettings;
  readonly password: string;
  readonly timing: Timing;
};

/** Events that a session reports to its carrier. */
type SessionEvents = {
  /** The result of `up()`, `writable()` or `fault()` may have changed. */
  changed(): void;
  /** The carrier sent a message. `answer` must be called once. */
  deliver(delivery: Delivery, answer: DeliveryAnswer): void;
  failed: CarrierHost['failed'];
  unreadable(): void;
  log: CarrierHost['log'];
};

/** One bind that is kept up: it connects, binds, and reconnects when it ends. */
export type Session = {
  readonly kind: BindMode;
  start(): void;
  /** Returns true if the session is bound and not closing. */
  up(): boolean;
  /** Returns false while the peer does not read fast enough. */
  writable(): boolean;
  /** Returns the number of messages that it takes at a time: the window, or one as long as it is stuck. */
  window(): number;
  /** Returns true if it was closed because submits got no responses, and none has got one since. */
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

const STUCK = 'the carrier does not respond to submits';

const FATAL_BIND_STATUS: ReadonlySet<number> = new Set([
  STATUS.ESME_RINVSYSID,
  STATUS.ESME_RINVPASWD,
  STATUS.ESME_RINVSYSTYP,
]);
/** Time limits for outstanding responses after the peer's unbind. */
const UNBIND_WAIT = { answersMs: 1000, owedMs: 1000 };
const MS = 1000;

/**
 * Creates a session that keeps one bind up (SMPP 3.4, 2.2). Throws a RangeError if a credential does not fit its field.
 */
export function createSession(options: SessionOptions, events: SessionEvents): Session {
  const { kind, settings, timing } = options;
  const submitTimeoutMs = settings.submitTimeoutSeconds * MS;
  const bindRequest = encodeBind(options);
  const stopping = new AbortController();
  let session: SmppSession | null = null;
  let fault: string | null = null;
  let consecutiveTimeouts = 0;
  /** Number of consecutive binds that were closed because no submit got a response. */
  let timesStuck = 0;
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

  async function runConnection(): Promise<SessionEnd> {
    const socket = await connect(settings, stopping.signal);
    if (socket instanceof net.Socket) return runSession(socket);
    setFault(socket);
    return socket;
  }

  async function runSession(socket: net.Socket): Promise<SessionEnd> {
    const closed = Promise.withResolvers<string>();
    let strays = 0;
    const current = openSession(
      socket,
      { serves: SERVES, enquireMs: () => settings.enquireSeconds * MS, unbindWait: UNBIND_WAIT },
      {
        request: (delivery) => events.deliver(delivery, answerTo(current, delivery)),
        broken: (reason) => {
          events.log('warn', 'The carrier sent a PDU that cannot be read', { bind: kind, reason });
          events.unreadable();
        },
        surplus: events.unreadable,
        stray: () => {
          strays += 1;
        },
        leaving: events.changed,
        drained: events.changed,
        closed: closed.resolve,
      },
    );
    session = current;
    const sweeper = setInterval(current.sweep, sweepMs(settings));
    const bindMs = settings.bindTimeoutSeconds * MS;
    const problem = bindProblem(await new Promise((resolve) => current.request(bindRequest, bindMs, resolve)));
    setFault(problem);
    if (problem) current.end(problem.reason);
    else markUp(current);
    const reason = await closed.promise;
    clearInterval(sweeper);
    session = null;
    if (strays > 0) events.log('warn', 'SMPP responses matched no request', { bind: kind, count: strays });
    events.changed();
    return problem ?? { reason, fault: false };
  }

  function markUp(current: SmppSession): void {
    current.bound(kind);
    consecutiveTimeouts = 0;
    events.log('info', 'SMPP bind is up', { bind: kind });
    events.changed();
  }

  function setFault(end: SessionEnd | null): void {
    const text = end?.fault ? end.reason : null;
    if (fault === text) return;
    fault = text;
    if (text !== null) events.log('error', 'SMPP bind is refused', { bind: kind, fault: text });
    events.changed();
  }

  function request(frame: Buffer, onAnswer: (answer: Answer) => void): void {
    if (!session) return onAnswer({ kind: 'closed', written: false });
    session.request(frame, submitTimeoutMs, (answer) => {
      watchTimeouts(answer);
      onAnswer(answer);
    });
  }

  /**
   * Watches submit timeouts. A live link proves nothing about submits: as long as none gets a response, each new bind is
   * tried with one.
   */
  function watchTimeouts({ kind: answered }: Answer): void {
    if (answered === 'response' && timesStuck > 0) {
      timesStuck = 0;
      events.changed();
    }
    consecutiveTimeouts = answered === 'timeout' ? consecutiveTimeouts + 1 : 0;
    const limit = timesStuck > 0 ? 1 : Math.min(settings.window, settings.maxSubmitTimeouts);
    if (consecutiveTimeouts < limit || session?.isUp() !== true) return;
    timesStuck += 1;
    events.failed(STUCK);
    events.log('error', 'SMPP bind responds to no submits', { bind: kind, timeouts: consecutiveTimeouts });
    rebind(STUCK);
  }

  function rebind(reason: string): void {
    session?.leave(reason, { answersMs: submitTimeoutMs, owedMs: submitTimeoutMs });
  }

  async function stop(deadlineMs: number): Promise<void> {
    stopping.abort();
    session?.leave('stopped', { answersMs: deadlineMs, owedMs: deadlineMs });
    const deadline = setTimeout(() => session?.destroy('stopped'), deadlineMs);
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
    up: () => session?.isUp() ?? false,
    writable: () => session?.isWritable() ?? false,
    window: () => (timesStuck > 0 ? 1 : settings.window),
    stuck: () => timesStuck > 0,
    fault: () => fault,
  };
}

/** Returns the responder of a delivery. Keeps only its sequence number, not its octets. */
function answerTo(session: SmppSession, { command, sequence }: Delivery): DeliveryAnswer {
  return (status, written) =>
    session.respond({ command: `${command}_resp`, status, sequence, messageId: '', tlvs: NO_TLVS }, written);
}

function sweepMs({ enquireSeconds, submitTimeoutSeconds, bindTimeoutSeconds }: SmppSettings): number {
  return Math.min(MS, (Math.min(enquireSeconds, submitTimeoutSeconds, bindTimeoutSeconds) * MS) / 5);
}

/** Opens a TCP or TLS connection, or returns why that failed. */
async function connect(settings: SmppSettings, stopped: AbortSignal): Promise<net.Socket | SessionEnd> {
  const socket = openSocket(settings);
  const signal = AbortSignal.any([stopped, AbortSignal.timeout(settings.bindTimeoutSeconds * MS)]);
  try {
    await once(socket, settings.tls ? 'secureConnect' : 'connect', { signal });
    return socket;
  } catch (error) {
    socket.destroy();
    const reason = signal.aborted
      ? 'the connection could not be opened in time'
      : error instanceof Error
        ? error.message
        : String(error);
    return { reason, fault: socket instanceof tls.TLSSocket && Boolean(socket.authorizationError) };
  }
}

function openSocket({ host, port, tls: secure, tlsCa, tlsServername, tlsInsecure }: SmppSettings): net.Socket {
  if (!secure) return net.connect({ host, port });
  return tls.connect({
    host,
    port,
    minVersion: 'TLSv1.2',
    rejectUnauthorized: !tlsInsecure,
    ca: tlsCa,
    servername: tlsServername ?? (net.isIP(host) ? undefined : host),
  });
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

/** Responds to the carrier with a command_status. `written` runs when the socket takes the response. */
type DeliveryAnswer = (status: number, written?: () => void) => void;

/** A response that waits for its delivery to be stored. */
type Answering = { readonly answer: DeliveryAnswer; readonly written?: () => void };

/**
 * Returns the id of an inbound message at the SMSC (SMPP 3.4, 5.3.2.12) or at its sender (5.3.2.17); null without one.
 * References of 0 are those of programs that fill the field because it is there.
 */
function carrierIdOf(tlvs: Tlvs): string | null {
  const id = readText(tlvs, TAG.receipted_message_id)?.trim();
  if (id) return id;
  const reference = readUint(tlvs, TAG.user_message_reference, 2);
  return reference ? `reference ${reference}` : null;
}

/** The deliveries of one carrier on their way to the host. */
export type Deliveries = {
  /** Passes a delivery to the host, and responds with the command_status once the host has committed it. */
  handle(delivery: Delivery, answer: DeliveryAnswer): void;
  /** Rejects all further deliveries with a temporary error, so that the carrier keeps them. */
  stop(): void;
};

/** Creates the path of receipts and inbound messages to the host (SMPP 3.4, 4.6 and appendix B). */
export function createDeliveries(settings: SmppSettings, host: CarrierHost): Deliveries {
  const shownOf = compileReceiptTlvs(settings.receiptTlvs);
  let atHost = 0;
  let stopping = false;
  /** The last promise that the host returned, and the responses that wait for it. */
  let last: { readonly stored: Promise<void>; readonly answers: Answering[] } | null = null;

  function handle(delivery: Delivery, answer: DeliveryAnswer): void {
    if (stopping || atHost >= MAX_AT_HOST) return answer(STATUS.ESME_RX_T_APPN);
    atHost += 1;
    const answered = Promise.withResolvers<void>();
    const answering = { answer, written: answered.resolve };
    try {
      answerWhenStored(passToHost(delivery, answered.promise), answering);
    } catch (error) {
      refuse(error, answering);
    }
  }

  /**
   * Responds once the delivery is stored. Deliveries that the host stores together share one promise, and so one
   * reaction. The deliveries themselves are not kept: many wait here, and each would retain the octets that it was read
   * from.
   */
  function answerWhenStored(stored: Promise<void>, answering: Answering): void {
    if (last?.stored === stored) return void last.answers.push(answering);
    const answers = [answering];
    const group = { stored, answers };
    last = group;
    const finishAll = (finishOne: (answering: Answering) => void): void => {
      if (last === group) last = null;
      answers.forEach(finishOne);
    };
    void stored.then(
      () => finishAll((one) => finish(STATUS.ESME_ROK, one)),
      (error: unknown) => finishAll((one) => refuse(error, one)),
    );
  }

  function refuse(error: unknown, answering: Answering): void {
    host.log('warn', 'A delivery was not stored and will be sent again', { reason: String(error) });
    finish(STATUS.ESME_RX_T_APPN, { answer: answering.answer });
  }

  function finish(status: number, { answer, written }: Answering): void {
    atHost -= 1;
    answer(status, written);
  }

  function passToHost(delivery: Delivery, answered: Promise<void>): Promise<void> {
    const message = delivery.command === 'deliver_sm' ? delivery : { ...delivery, shortMessage: NO_OCTETS };
    if (!isReceipt(message, settings.dlrWithoutEsmClass)) {
      const isIa5 = settings.ia5AsDefault && message.dataCoding === IA5;
      const inbound = {
        source: message.source,
        destination: message.destination,
        text: textOf(isIa5 ? { ...message, dataCoding: 0 } : message, settings.defaultAlphabet),
        concat: concatOf(message),
        raw: Uint8Array.from(userData(message)),
      };
      const carrierId = carrierIdOf(message.tlvs);
      return host.inbound(carrierId === null ? inbound : { ...inbound, carrierId }, answered);
    }
    const receipt = readReceipt(message, settings);
    const shown = shownOf(message.tlvs);
    if (receipt) return host.receipt(shown === '' ? receipt : { ...receipt, raw: receipt.raw + shown });
    host.log('warn', 'A receipt without an id was dropped', { octets: Buffer.from(userData(message)).toString('hex') });
    host.unreadable?.();
    return Promise.resolve();
  }

  return {
    handle,
    stop: () => {
      stopping = true;
    },
  };
}
