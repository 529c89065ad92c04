import { isIP } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CarrierHost } from '../carrier.ts';
import { type Connection, type ConnectionOptions, openConnection } from './connection.ts';
import type { Answer } from './pending.ts';
import { encodePdu, type Pdu, type PduOf } from './pdu.ts';
import type { SmppSettings } from './settings.ts';
import { STATUS, statusName } from './status.ts';
import { NO_TLVS } from './tlv.ts';

export type BindKind = 'transceiver' | 'transmitter' | 'receiver';
export type Delivery = PduOf<'deliver_sm'> | PduOf<'data_sm'>;

/** Reconnect times in milliseconds (protocol sheet smpp, section 4); tests shorten them. */
export type Timing = {
  readonly reconnectBaseMs: number;
  readonly reconnectMaxMs: number;
  /** A bind that held for so long starts again from the shortest delay. */
  readonly stableMs: number;
  /** After a wrong password or system id: a person must act, and hammering gets an account locked. */
  readonly faultRetryMs: number;
};

export const TIMING: Timing = {
  reconnectBaseMs: 1000,
  reconnectMaxMs: 60_000,
  stableMs: 60_000,
  faultRetryMs: 300_000,
};

export type SessionOptions = {
  readonly kind: BindKind;
  readonly settings: SmppSettings;
  readonly password: string;
  readonly timing: Timing;
};

export type SessionEvents = {
  /** `up()`, `writable()` or `fault()` may have changed. */
  changed(): void;
  /** `answer` is to be called once, with the command_status of the answer. */
  deliver(delivery: Delivery, answer: (status: number) => void): void;
  failed: CarrierHost['failed'];
  log: CarrierHost['log'];
};

/** One bind that is kept up: it connects, binds, and starts again when it ends. */
export type Session = {
  readonly kind: BindKind;
  start(): void;
  /** Bound, and not about to leave. */
  up(): boolean;
  /** False while the peer does not read fast enough. */
  writable(): boolean;
  /** Set while the carrier refuses the credentials or the certificate. */
  fault(): string | null;
  /** Sends a request over the bind. The answer is `closed`, not written, while there is no connection. */
  request(frame: Buffer, answer: (answer: Answer) => void): void;
  /** Takes no new requests, waits for the open answers, unbinds and binds again. */
  rebind(reason: string): void;
  /** Unbinds orderly, within `deadlineMs` at most, and stays away. */
  stop(deadlineMs: number): Promise<void>;
};

/** Why a bind ended. `fault`: a person must act. */
type End = { readonly reason: string; readonly fault: boolean };

const NOT_CONNECTED: Answer = { kind: 'closed', written: false };
const FATAL_BIND_STATUS: ReadonlySet<number> = new Set([
  STATUS.ESME_RINVSYSID,
  STATUS.ESME_RINVPASWD,
  STATUS.ESME_RINVSYSTYP,
]);
/** After the peer's unbind: how long answers that are under way may still come. */
const PEER_UNBIND_GRACE_MS = 1000;
const MS = 1000;

/**
 * Keeps one bind up (protocol sheet smpp, sections 1 and 4). Throws RangeError when a credential does not fit
 * its field.
 */
export function createSession(options: SessionOptions, events: SessionEvents): Session {
  const { kind, settings, timing } = options;
  const submitTimeoutMs = settings.submitTimeoutSeconds * MS;
  const hello = bindFrame(options);
  const stopping = new AbortController();
  let connection: Connection | null = null;
  let bound = false;
  let leaving = false;
  let fault: string | null = null;
  let openRequests = 0;
  let openDeliveries = 0;
  let timeoutsInARow = 0;
  let calm: () => void = () => undefined;
  let ended: Promise<void> = Promise.resolve();

  async function run(): Promise<void> {
    let failures = 0;
    while (!stopping.signal.aborted) {
      const since = performance.now();
      const end = await live();
      if (stopping.signal.aborted) return;
      if (performance.now() - since > timing.stableMs) failures = 0;
      const retryInMs = end.fault ? timing.faultRetryMs : backoffMs(failures, timing);
      failures += 1;
      events.failed(end.reason);
      events.log('warn', 'SMPP bind is down', { bind: kind, reason: end.reason, retryInMs });
      await sleep(retryInMs, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  }

  /** One connection from its start to its end. */
  async function live(): Promise<End> {
    const current = openConnection(connectionOptions(settings), { request: receive, drained: events.changed });
    connection = current;
    const problem = await bind(current);
    setFault(problem?.fault ? problem.reason : null);
    if (problem) current.close(problem.reason);
    else comeUp();
    const { reason, strays } = await current.closed;
    if (strays > 0) events.log('warn', 'SMPP responses matched no request', { bind: kind, strays });
    goDown();
    return problem ?? { reason, fault: false };
  }

  async function bind(current: Connection): Promise<End | null> {
    if (await current.opened) return bindProblem(await current.request(hello, settings.bindTimeoutSeconds * MS));
    const { reason, untrusted } = await current.closed;
    return { reason, fault: untrusted };
  }

  function comeUp(): void {
    bound = true;
    timeoutsInARow = 0;
    events.log('info', 'SMPP bind is up', { bind: kind });
    events.changed();
  }

  function goDown(): void {
    bound = false;
    leaving = false;
    connection = null;
    calm();
    events.changed();
  }

  function setFault(text: string | null): void {
    if (fault === text) return;
    fault = text;
    if (text !== null) events.log('error', 'SMPP bind is refused', { bind: kind, fault: text });
    events.changed();
  }

  function request(frame: Buffer, answer: (answer: Answer) => void): void {
    if (!connection) return answer(NOT_CONNECTED);
    openRequests += 1;
    connection.ask(frame, submitTimeoutMs, (given) => {
      openRequests -= 1;
      timeoutsInARow = given.kind === 'timeout' ? timeoutsInARow + 1 : 0;
      // A whole window without one answer: the carrier's side is stuck although the link lives.
      if (timeoutsInARow >= settings.window) rebind('the carrier answers no submits');
      calmDown();
      answer(given);
    });
  }

  function receive(pdu: Pdu): void {
    switch (pdu.command) {
      case 'deliver_sm':
      case 'data_sm':
        receiveDelivery(pdu);
        return;
      case 'unbind':
        connection?.send({ command: 'unbind_resp', status: 0, sequence: pdu.sequence });
        void leave('the carrier unbound', PEER_UNBIND_GRACE_MS);
        return;
      case 'alert_notification':
      case 'outbind':
        return;
      default:
        connection?.send({ command: 'generic_nack', status: STATUS.ESME_RINVCMDID, sequence: pdu.sequence });
    }
  }

  /** Not only while `bound`: the first delivery may come in one segment with the answer to the bind. */
  function receiveDelivery(delivery: Delivery): void {
    events.deliver(delivery, answerTo(delivery));
  }

  /** Keeps the sequence number of the delivery and nothing else of it. */
  function answerTo({ command, sequence }: Delivery): (status: number) => void {
    const from = connection;
    const response = command === 'deliver_sm' ? 'deliver_sm_resp' : 'data_sm_resp';
    openDeliveries += 1;
    return (status) => {
      openDeliveries -= 1;
      from?.send({ command: response, status, sequence, messageId: '', tlvs: NO_TLVS });
      calmDown();
    };
  }

  function calmDown(): void {
    if (openRequests === 0 && openDeliveries === 0) calm();
  }

  /** Resolves when nothing is open any more, when the connection has ended, or after `limitMs`. */
  function untilCalm(limitMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, limitMs);
      calm = () => {
        clearTimeout(timer);
        resolve();
      };
      calmDown();
    });
  }

  /** Takes no new requests, and ends the connection as soon as nothing is open, after `graceMs` in any case. */
  async function leave(reason: string, graceMs: number, farewell?: Buffer): Promise<void> {
    const from = connection;
    if (leaving || !from) return;
    leaving = true;
    events.changed();
    const until = performance.now() + graceMs;
    await untilCalm(graceMs);
    if (farewell && bound) await from.request(farewell, Math.max(0, until - performance.now()));
    from.close(reason);
  }

  function rebind(reason: string): void {
    void leave(reason, submitTimeoutMs, unbindFrame());
  }

  async function stop(deadlineMs: number): Promise<void> {
    stopping.abort();
    void leave('stopped', deadlineMs, unbindFrame());
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
    up: () => bound && !leaving,
    writable: () => connection?.writable() ?? false,
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

function bindFrame({ kind, settings, password }: SessionOptions): Buffer {
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

function unbindFrame(): Buffer {
  return encodePdu({ command: 'unbind', status: 0, sequence: 0 });
}

function bindProblem(answer: Answer): End | null {
  if (answer.kind !== 'response') return { reason: `bind: ${answer.kind}`, fault: false };
  const { status, command } = answer.pdu;
  if (status === STATUS.ESME_ROK && command !== 'generic_nack') return null;
  return { reason: `The carrier refused the bind: ${statusName(status)}`, fault: FATAL_BIND_STATUS.has(status) };
}

/** Doubles with each failure; between half and all of it, so that many binds do not come back at once. */
function backoffMs(failures: number, timing: Timing): number {
  const fullMs = Math.min(timing.reconnectMaxMs, timing.reconnectBaseMs * 2 ** failures);
  return fullMs * (0.5 + Math.random() / 2);
}
