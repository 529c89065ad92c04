import net from 'node:net';
import tls from 'node:tls';
import { createFrameReader } from './frames.ts';
import { createOutbox } from './outbox.ts';
import { type Answer, createPending } from './pending.ts';
import { COMMAND, type DecodeFailure, decodePdu, encodePdu, type Pdu } from './pdu.ts';
import { STATUS } from './status.ts';

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
  /** An enquire_link goes out when the peer was silent for this long; after three times this it counts as dead. */
  readonly enquireMs: number;
  /** How often deadlines are looked at, so how late a timeout may be. */
  readonly sweepMs: number;
};

export type ConnectionEvents = {
  /** A request of the peer; enquire_link is answered here already. */
  request(pdu: Pdu): void;
  /** The socket takes octets again after it pushed back. */
  drained(): void;
};

export type Closed = {
  readonly reason: string;
  /** The peer's certificate did not pass. */
  readonly untrusted: boolean;
  /** Responses that matched no open request: late, doubled or of the wrong command. */
  readonly strays: number;
};

export type Connection = {
  /** False when the connection ended before it was open. */
  readonly opened: Promise<boolean>;
  /** Resolves once the socket is gone. By then every request has its answer. */
  readonly closed: Promise<Closed>;
  /** Sends an encoded request under a fresh sequence number, which is written into `frame`. */
  request(frame: Buffer, timeoutMs: number): Promise<Answer>;
  /** The same without a promise, of which a message at full speed can afford one in all. */
  ask(frame: Buffer, timeoutMs: number, answer: (answer: Answer) => void): void;
  /** Sends a response (or a request that has none); dropped when the connection is ending. */
  send(pdu: Pdu): void;
  /** False while the peer does not read fast enough. */
  writable(): boolean;
  /** Ends orderly: what is queued goes out and the peer's last octets are read, within `graceMs` (half a second). */
  close(reason: string, graceMs?: number): void;
};

const RESPONSE_BIT = 0x80000000;
const COMMAND_OFFSET = 4;
const SEQUENCE_OFFSET = 12;
const LAST_SEQUENCE = 0x7fffffff;
const MISSED_PERIODS = 2;
const CLOSE_GRACE_MS = 500;
/** A peer that sends requests without reading the answers is not read either from here on. */
const UNREAD_ANSWERS_OCTETS = 1 << 20;

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
 * One TCP or TLS connection that speaks PDUs (protocol sheet smpp, sections 1, 2 and 4). It matches responses to
 * requests, keeps the link alive, and refuses what breaks the framing. It does not know about binds.
 */
export function openConnection(options: ConnectionOptions, events: ConnectionEvents): Connection {
  const socket = openSocket(options);
  const opened = Promise.withResolvers<boolean>();
  const closed = Promise.withResolvers<Closed>();
  const reader = createFrameReader();
  const outbox = createOutbox(socket);
  const pending = createPending();
  let sequence = 0;
  let strays = 0;
  let lastHeard = performance.now();
  let enquiries = 0;
  let open = false;
  let ending = false;
  let reason: string | null = null;

  const connectTimer = setTimeout(() => abort('no connection in time'), options.connectTimeoutMs);
  // In setImmediate, so after the sockets are read: a process that was held up must not take answers that are
  // already here for missing ones.
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

  function ask(frame: Buffer, timeoutMs: number, answer: (answer: Answer) => void): void {
    if (ending) return answer({ kind: 'closed', written: false });
    sequence = sequence === LAST_SEQUENCE ? 1 : sequence + 1;
    frame.writeUInt32BE(sequence, SEQUENCE_OFFSET);
    const responseId = frame.readUInt32BE(COMMAND_OFFSET) + RESPONSE_BIT;
    const place = outbox.push(frame);
    pending.add(sequence, { responseId, place, deadline: performance.now() + timeoutMs, answer });
  }

  function request(frame: Buffer, timeoutMs: number): Promise<Answer> {
    return new Promise((answer) => ask(frame, timeoutMs, answer));
  }

  function send(pdu: Pdu): void {
    if (ending) return;
    outbox.push(encodePdu(pdu));
    if (outbox.waiting() > UNREAD_ANSWERS_OCTETS) socket.pause();
  }

  function receive(chunk: Buffer): void {
    const frames = reader.push(chunk);
    if (frames.length > 0) {
      lastHeard = performance.now();
      enquiries = 0;
    }
    for (const frame of frames) receiveFrame(frame);
    const badLength = reader.bad();
    if (badLength !== null && !ending) refuseStream(badLength);
  }

  function receiveFrame(frame: Uint8Array): void {
    const pdu = decodePdu(frame);
    if ('failure' in pdu) receiveGarbage(pdu);
    else if (COMMAND[pdu.command] >= RESPONSE_BIT) strays += pending.respond(pdu) ? 0 : 1;
    else if (pdu.command === 'enquire_link') {
      send({ command: 'enquire_link_resp', status: 0, sequence: pdu.sequence });
    } else events.request(pdu);
  }

  /** A response is never answered, not even by a generic_nack: two peers would keep at it for ever. */
  function receiveGarbage(failure: DecodeFailure): void {
    if (failure.commandId >= RESPONSE_BIT) {
      strays += pending.fail(failure) ? 0 : 1;
      return;
    }
    const status = failure.failure === 'unknown_command' ? STATUS.ESME_RINVCMDID : STATUS.ESME_RINVCMDLEN;
    send({ command: 'generic_nack', status, sequence: failure.sequence });
  }

  function refuseStream(length: number): void {
    send({ command: 'generic_nack', status: STATUS.ESME_RINVCMDLEN, sequence: 0 });
    close(`the peer sent a PDU of ${length} octets`);
  }

  function close(why: string, graceMs = CLOSE_GRACE_MS): void {
    if (!open) return abort(why);
    reason ??= why;
    if (!ending) outbox.flush();
    ending = true;
    socket.end();
    setTimeout(() => socket.destroy(), graceMs).unref();
  }

  function abort(why: string): void {
    reason ??= why;
    ending = true;
    socket.destroy();
  }

  function finish(): void {
    ending = true;
    clearTimeout(connectTimer);
    clearInterval(sweep);
    pending.close(outbox.given());
    opened.resolve(false);
    const untrusted = socket instanceof tls.TLSSocket && !open && Boolean(socket.authorizationError);
    closed.resolve({ reason: reason ?? 'the peer closed the connection', untrusted, strays });
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
    ask,
    send,
    close,
    writable: () => !ending && outbox.open(),
  };
}
