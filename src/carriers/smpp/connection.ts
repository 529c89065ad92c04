import net from 'node:net';
import tls from 'node:tls';
import { createFrameReader } from './frames.ts';
import { createOutbox } from './outbox.ts';
import { type Answer, createPending } from './pending.ts';
import { COMMAND, type DecodeFailure, decodePdu, encodePdu, type Pdu } from './pdu.ts';
import { STATUS } from './status.ts';

/** Address, TLS options and limits of a connection to its peer. */
export type ConnectionOptions = {
  readonly host: string;
  readonly port: number;
  /** Null for plain TCP. */
  readonly tls: {
    readonly ca: string | undefined;
    readonly servername: string | undefined;
    readonly insecure: boolean;
  } | null;
  readonly connectTimeoutMs: number;
  /** Silence of the peer after which an enquire_link goes out; after three times as long the peer counts as dead. */
  readonly enquireMs: number;
  /** Interval at which deadlines are checked, and so the maximum delay of a timeout. */
  readonly sweepMs: number;
};

/** Events that a connection reports to its owner. */
export type ConnectionEvents = {
  /** The peer sent a request other than enquire_link, to which the connection itself responds. */
  request(pdu: Pdu): void;
  /** The socket takes octets again after backpressure. */
  drained(): void;
};

/** End of a connection, with its reason. */
export type Closed = {
  readonly reason: string;
  /** True if the peer's certificate was not trusted. */
  readonly untrusted: boolean;
  /** The number of responses that matched no open request: late, duplicate, or for another command. */
  readonly unmatchedResponses: number;
};

/** One connection that speaks PDUs; see `openConnection`. */
export type Connection = {
  /** Resolves with true once the connection is open, and with false if it ended before. */
  readonly opened: Promise<boolean>;
  /** Resolves once the socket is closed. By then every request has its result. */
  readonly closed: Promise<Closed>;
  /**
   * Sends an encoded request under a fresh sequence number, which is written into `frame`, and resolves with the
   * response.
   */
  request(frame: Buffer, timeoutMs: number): Promise<Answer>;
  /** Same as `request`, with a callback: at full speed a message can afford only one promise in total. */
  requestWithCallback(frame: Buffer, timeoutMs: number, answer: (answer: Answer) => void): void;
  /** Sends a response, or a request that has none; drops it if the connection is ending. */
  send(pdu: Pdu): void;
  /** False while the peer does not read fast enough. */
  writable(): boolean;
  /** Closes gracefully: sends queued data and reads the peer's last octets, within `graceMs` (default 500). */
  close(closeReason: string, graceMs?: number): void;
};

const RESPONSE_BIT = 0x80000000;
const COMMAND_OFFSET = 4;
const SEQUENCE_OFFSET = 12;
const MAX_SEQUENCE = 0x7fffffff;
const MISSED_PERIODS = 2;
const CLOSE_GRACE_MS = 500;
/** A peer that leaves this many octets of responses unread is no longer read until it catches up. */
const MAX_UNREAD_ANSWER_OCTETS = 1 << 20;

function openSocket({ host, port, tls: secure }: ConnectionOptions): net.Socket {
  if (!secure) return net.connect({ host, port, noDelay: true });
  const socket = tls.connect({
    host,
    port,
    minVersion: 'TLSv1.2',
    rejectUnauthorized: !secure.insecure,
    ca: secure.ca,
    servername: secure.servername,
  });
  return socket.setNoDelay(true);
}

/**
 * Opens a TCP or TLS connection that speaks PDUs (SMPP 3.4, 2.2, 3.2 and 7.2). It matches responses to
 * requests, keeps the link alive, and rejects data that breaks the framing. It does not know about binds.
 */
export function openConnection(options: ConnectionOptions, events: ConnectionEvents): Connection {
  const socket = openSocket(options);
  const opened = Promise.withResolvers<boolean>();
  const closed = Promise.withResolvers<Closed>();
  const reader = createFrameReader();
  const outbox = createOutbox(socket);
  const pending = createPending();
  let sequence = 0;
  let unmatchedResponses = 0;
  let lastHeard = performance.now();
  let enquiries = 0;
  let open = false;
  let ending = false;
  let reason: string | null = null;

  const connectTimer = setTimeout(() => abort('the connection could not be opened in time'), options.connectTimeoutMs);
  // setImmediate runs after the sockets are read: a process that was blocked must not count responses that have already
  // arrived as missing.
  const sweep = setInterval(() => setImmediate(tick), options.sweepMs);

  function tick(): void {
    const now = performance.now();
    pending.expire(now);
    const periods = (now - lastHeard) / options.enquireMs;
    if (!open || ending || periods < enquiries + 1) return;
    if (enquiries === MISSED_PERIODS) return abort('the peer is silent');
    enquiries += 1;
    void request(encodePdu({ command: 'enquire_link', status: 0, sequence: 0 }), options.enquireMs);
  }

  function requestWithCallback(frame: Buffer, timeoutMs: number, onAnswer: (answer: Answer) => void): void {
    if (ending) return onAnswer({ kind: 'closed', written: false });
    sequence = sequence === MAX_SEQUENCE ? 1 : sequence + 1;
    frame.writeUInt32BE(sequence, SEQUENCE_OFFSET);
    const responseId = frame.readUInt32BE(COMMAND_OFFSET) + RESPONSE_BIT;
    const position = outbox.push(frame);
    pending.add(sequence, { responseId, position, deadline: performance.now() + timeoutMs, onAnswer });
  }

  function request(frame: Buffer, timeoutMs: number): Promise<Answer> {
    return new Promise((resolve) => requestWithCallback(frame, timeoutMs, resolve));
  }

  function send(pdu: Pdu): void {
    if (ending) return;
    outbox.push(encodePdu(pdu));
    if (outbox.queuedOctets() > MAX_UNREAD_ANSWER_OCTETS) socket.pause();
  }

  function receive(chunk: Buffer): void {
    const frames = reader.push(chunk);
    if (frames.length > 0) {
      lastHeard = performance.now();
      enquiries = 0;
    }
    for (const frame of frames) receiveFrame(frame);
    const badLength = reader.invalidLength();
    if (badLength !== null && !ending) refuseStream(badLength);
  }

  function receiveFrame(frame: Uint8Array): void {
    const pdu = decodePdu(frame);
    if ('failure' in pdu) receiveInvalid(pdu);
    else if (COMMAND[pdu.command] >= RESPONSE_BIT) unmatchedResponses += pending.respond(pdu) ? 0 : 1;
    else if (pdu.command === 'enquire_link') {
      send({ command: 'enquire_link_resp', status: 0, sequence: pdu.sequence });
    } else events.request(pdu);
  }

  /**
   * Handles an invalid PDU. A response is never answered, not even with a generic_nack: two peers could go on like that
   * forever.
   */
  function receiveInvalid(failure: DecodeFailure): void {
    if (failure.commandId >= RESPONSE_BIT) {
      unmatchedResponses += pending.fail(failure) ? 0 : 1;
      return;
    }
    const status = failure.failure === 'unknown_command' ? STATUS.ESME_RINVCMDID : STATUS.ESME_RINVCMDLEN;
    send({ command: 'generic_nack', status, sequence: failure.sequence });
  }

  function refuseStream(length: number): void {
    send({ command: 'generic_nack', status: STATUS.ESME_RINVCMDLEN, sequence: 0 });
    close(`the peer sent a PDU of ${length} octets`);
  }

  function close(closeReason: string, graceMs = CLOSE_GRACE_MS): void {
    if (!open) return abort(closeReason);
    reason ??= closeReason;
    if (!ending) outbox.flush();
    ending = true;
    socket.end();
    setTimeout(() => socket.destroy(), graceMs).unref();
  }

  function abort(closeReason: string): void {
    reason ??= closeReason;
    ending = true;
    socket.destroy();
  }

  function finish(): void {
    ending = true;
    clearTimeout(connectTimer);
    clearInterval(sweep);
    pending.close(outbox.lastHandedOver());
    opened.resolve(false);
    const untrusted = socket instanceof tls.TLSSocket && !open && Boolean(socket.authorizationError);
    closed.resolve({ reason: reason ?? 'the peer closed the connection', untrusted, unmatchedResponses });
  }

  socket.once(options.tls ? 'secureConnect' : 'connect', () => {
    clearTimeout(connectTimer);
    open = true;
    lastHeard = performance.now();
    opened.resolve(true);
  });
  socket.on('data', receive);
  socket.on('drain', () => {
    socket.resume();
    events.drained();
  });
  socket.on('end', () => {
    ending = true;
  });
  socket.on('error', (error) => {
    reason ??= error.message;
  });
  socket.once('close', finish);

  return {
    opened: opened.promise,
    closed: closed.promise,
    request,
    requestWithCallback,
    send,
    close,
    writable: () => !ending && outbox.isOpen(),
  };
}
