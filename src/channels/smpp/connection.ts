import net, { type Socket } from 'node:net';
import tls from 'node:tls';
import { createFrameReader } from '../../smpp/link.ts';
import { COMMAND, type DecodeFailure, decodePdu, encodePdu, type Pdu } from '../../smpp/pdu.ts';
import { STATUS } from '../../smpp/status.ts';

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
type ConnectionEvents = {
  /** The peer sent a request other than enquire_link, to which the connection itself responds. */
  request(pdu: Pdu): void;
  /** The socket takes octets again after backpressure. */
  drained(): void;
};

/** End of a connection, with its reason. */
type Closed = {
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

/** The octets of one connection that are waiting to be written. */
type Outbox = {
  /** Queues octets and returns their position in the queue, counted from 1. */
  push(bytes: Buffer): number;
  /** Returns the last position that was handed to the socket; anything after it never left this process. */
  lastHandedOver(): number;
  /** Returns the number of octets waiting because the peer does not read fast enough. */
  queuedOctets(): number;
  /** Returns false from a socket write that returned false until the socket's `drain` event. */
  isOpen(): boolean;
  /** Hands the queue to the socket now instead of at the end of the tick. */
  flush(): void;
};

/**
 * Creates an outbox that combines the writes of one tick: with small PDUs the cost is per write, not per octet. While
 * the socket is under backpressure, octets stay in the outbox, so that they do not count as possibly sent after a lost
 * connection.
 */
function createOutbox(socket: Socket): Outbox {
  let queue: Buffer[] = [];
  let queuedOctets = 0;
  let pushed = 0;
  let lastHandedOver = 0;
  let blocked = false;
  let scheduled = false;

  function push(bytes: Buffer): number {
    queue.push(bytes);
    queuedOctets += bytes.length;
    pushed += 1;
    if (!scheduled && !blocked) {
      scheduled = true;
      setImmediate(flush);
    }
    return pushed;
  }

  function flush(): void {
    scheduled = false;
    if (blocked || queue.length === 0 || !socket.writable) return;
    const batch = Buffer.concat(queue, queuedOctets);
    queue = [];
    queuedOctets = 0;
    lastHandedOver = pushed;
    blocked = !socket.write(batch);
  }

  socket.on('drain', () => {
    blocked = false;
    flush();
  });

  return {
    push,
    flush,
    lastHandedOver: () => lastHandedOver,
    queuedOctets: () => queuedOctets,
    isOpen: () => !blocked,
  };
}

/** The result of one request. Every request gets exactly one. */
export type Answer =
  | { readonly kind: 'response'; readonly pdu: Pdu }
  /** A response arrived, but its body violates the protocol. */
  | { readonly kind: 'unreadable'; readonly reason: string }
  | { readonly kind: 'timeout' }
  /** The connection ended first. `written` is false only if no octet of the request can have left this process. */
  | { readonly kind: 'closed'; readonly written: boolean };

type PendingRequest = {
  /** The command_id of the expected response. */
  readonly responseId: number;
  /** Its position in the outbox. */
  readonly position: number;
  /** Deadline on the clock of `performance.now()`. */
  readonly deadline: number;
  readonly onAnswer: (answer: Answer) => void;
};

/** The open requests of one connection. */
type Pending = {
  /** Adds a request; its `onAnswer` is called exactly once. */
  add(sequence: number, request: PendingRequest): void;
  /**
   * Settles the request of this response; false when none matches: the response is late, duplicate, or for another
   * command.
   */
  respond(pdu: Pdu): boolean;
  /** Settles the request of an unreadable response; false when none matches. */
  fail(failure: DecodeFailure): boolean;
  /** Settles the requests whose deadline has passed with `timeout`. */
  expire(now: number): void;
  /**
   * Settles all remaining requests with `closed`; `lastHandedOver` is the last outbox position that the socket
   * received.
   */
  close(lastHandedOver: number): void;
  /** Returns the number of open requests. */
  count(): number;
};

/** Creates the table of requests that wait for their response, by sequence number. */
function createPending(): Pending {
  const waiting = new Map<number, PendingRequest>();

  function settle(sequence: number, commandId: number, answer: Answer): boolean {
    const entry = waiting.get(sequence);
    if (!entry || (commandId !== entry.responseId && commandId !== COMMAND.generic_nack)) return false;
    waiting.delete(sequence);
    entry.onAnswer(answer);
    return true;
  }

  /** Scans all requests: the window bounds the table, and different kinds of requests have different timeouts. */
  function expire(now: number): void {
    for (const [sequence, entry] of waiting) {
      if (entry.deadline > now) continue;
      waiting.delete(sequence);
      entry.onAnswer({ kind: 'timeout' });
    }
  }

  function close(lastHandedOver: number): void {
    for (const [sequence, entry] of waiting) {
      waiting.delete(sequence);
      entry.onAnswer({ kind: 'closed', written: entry.position <= lastHandedOver });
    }
  }

  return {
    add: (sequence, request) => void waiting.set(sequence, request),
    respond: (pdu) => settle(pdu.sequence, COMMAND[pdu.command], { kind: 'response', pdu }),
    fail: ({ sequence, commandId, reason }) => settle(sequence, commandId, { kind: 'unreadable', reason }),
    expire,
    close,
    count: () => waiting.size,
  };
}
