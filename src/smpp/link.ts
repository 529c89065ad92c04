import { once } from 'node:events';
import type { Server, Socket } from 'node:net';
import { type DecodeFailure, decodePdu, encodePdu, type Message, type Pdu } from './pdu.ts';
import { STATUS } from './status.ts';
import { NO_TLVS } from './wire.ts';

type LinkOptions = {
  /** Returns the maximum octets of a PDU, as it is when the PDU begins; by default `MAX_FRAME`. */
  maxLength?(): number;
  /** Maximum PDUs that are handled before the event loop turns; by default 64. */
  readonly maxPerTurn?: number;
};

/** Events that a link reports to its session. */
export type LinkHandlers = {
  /** A valid PDU of this many octets arrived. */
  pdu(pdu: Pdu, octets: number): void;
  /** The peer sent an invalid PDU, which is `failure`, or (null) invalid framing, which ends the link. */
  broken(reason: string, failure: DecodeFailure | null): void;
  /** The socket takes octets again after backpressure. */
  drained?(): void;
  /** The connection has ended, with this error if there was one. Called once; nothing is received or sent after it. */
  closed(error: Error | null): void;
};

/** One TCP or TLS connection as a stream of PDUs. */
export type Link = {
  /** Sends a PDU together with all others of this tick. `written` runs when the socket takes it. */
  send(pdu: Pdu, written?: () => void): void;
  /** Same as `send`, with an encoded PDU. Returns its position among all that were sent, from 1; 0 if the link ends. */
  sendFrame(frame: Buffer, written?: () => void): number;
  /** Returns the last position that the socket took; anything after it never left this process. */
  lastWritten(): number;
  /** Returns false while the peer does not read fast enough, and when the link ends. */
  isWritable(): boolean;
  /** Returns true while more has arrived than one turn of the event loop handles. */
  isBehind(): boolean;
  /** Sends queued data, then closes; destroys the connection after half a second if the peer does not close it. */
  end(): void;
  /** Closes immediately, without sending queued data. */
  destroy(): void;
  /**
   * Stops or resumes reading. While held, no PDU is passed on, even if it has arrived: at most one piece read from the
   * socket waits here, and everything else waits at the peer.
   */
  hold(held: boolean): void;
  /**
   * Returns the milliseconds since the peer last completed a PDU, or since it is read again: a partial PDU, however
   * slow, counts as silence.
   */
  silentMs(): number;
};

/** PDUs that are handled before the event loop turns: some 60 µs. One read of a socket holds up to 4,096. */
const MAX_PER_TURN = 64;
/** Maximum unread octets; beyond it, the peer's requests are no longer read. */
const MAX_UNREAD_OCTETS = 1 << 20;
const CLOSE_MS = 500;

/**
 * Creates a link that speaks PDUs over a socket: one write per tick, because with small PDUs the cost is per write. Under backpressure, octets stay here, so that they do not count as possibly sent after a
 * lost connection. It handles `maxPerTurn` PDUs in one turn of the event loop, and reads no more until those that have
 * arrived are handled. A PDU of more than `maxLength` octets ends the link.
 */
export function createLink(socket: Socket, handlers: LinkHandlers, options: LinkOptions = {}): Link {
  const reader = createFrameReader(options);
  /** Frames that have arrived; those before `next` were passed on. */
  let arrived: Uint8Array[] = [];
  let next = 0;
  let passing = false;
  let queue: Buffer[] = [];
  let queuedOctets = 0;
  let whenWritten: (() => void)[] = [];
  let pushed = 0;
  let lastWritten = 0;
  let flushing = false;
  /** True from a write that the socket cannot take at once until its `drain` event. */
  let blocked = false;
  let ended = false;
  let held = false;
  let error: Error | null = null;
  /** True while more has arrived than one turn handles. */
  let isBehind = false;
  let lastReceived = performance.now();

  function sendFrame(frame: Buffer, written?: () => void): number {
    if (ended || socket.destroyed) return 0;
    queue.push(frame);
    queuedOctets += frame.length;
    if (written) whenWritten.push(written);
    if (!flushing && !blocked) {
      flushing = true;
      setImmediate(flush);
    }
    if (queuedOctets > MAX_UNREAD_OCTETS) updateReading();
    pushed += 1;
    return pushed;
  }

  function send(pdu: Pdu, written?: () => void): void {
    sendFrame(encodePdu(pdu), written);
  }

  function flush(): void {
    flushing = false;
    const [first] = queue;
    if (blocked || first === undefined || !socket.writable) return;
    const octets = queue.length === 1 ? first : Buffer.concat(queue, queuedOctets);
    const callbacks = whenWritten;
    queue = [];
    queuedOctets = 0;
    whenWritten = [];
    lastWritten = pushed;
    blocked = !socket.write(octets);
    updateReading();
    for (const callback of callbacks) callback();
  }

  function read(chunk: Uint8Array): void {
    if (ended) return;
    const frames = reader.push(chunk);
    if (frames.length > 0) lastReceived = performance.now();
    arrived = next === arrived.length ? frames : [...arrived.slice(next), ...frames];
    next = 0;
    passOn();
  }

  /** Passes on received PDUs, until a handler holds the link. A broken stream ends it after the last valid frame. */
  function passOn(): void {
    if (passing || isBehind) return;
    passing = true;
    const last = Math.min(arrived.length, next + (options.maxPerTurn ?? MAX_PER_TURN));
    while (next < last && !held && !ended) {
      const frame = arrived[next++];
      if (frame) readFrame(frame);
    }
    passing = false;
    isBehind = next < arrived.length && !held && !ended;
    if (isBehind) setImmediate(catchUp);
    updateReading();
    if (next === arrived.length && reader.invalidLength() !== null && !ended) refuseLength(reader.invalidLength());
  }

  function catchUp(): void {
    isBehind = false;
    passOn();
  }

  /** An ended link continues reading: see `end`. */
  function updateReading(): void {
    if (ended || socket.destroyed) return;
    const isCongested = blocked && socket.writableLength + queuedOctets > MAX_UNREAD_OCTETS;
    if (held || isCongested || isBehind) socket.pause();
    else socket.resume();
  }

  function readFrame(frame: Uint8Array): void {
    const pdu = decodePdu(frame);
    if (!('failure' in pdu)) {
      handlers.pdu(pdu, frame.length);
      return;
    }
    handlers.broken(`${pdu.reason} (command_id 0x${pdu.commandId.toString(16)})`, pdu);
  }

  function refuseLength(length: number | null): void {
    send({ command: 'generic_nack', status: STATUS.ESME_RINVCMDLEN, sequence: 0 });
    handlers.broken(`command_length ${length}`, null);
    end();
  }

  function end(): void {
    if (ended) return;
    flush();
    ended = true;
    if (!blocked) socket.end();
    // The remaining input is still read: a reset because of unread octets could overtake the last response.
    socket.resume();
    setTimeout(() => socket.destroy(), CLOSE_MS).unref();
  }

  function destroy(): void {
    ended = true;
    socket.destroy();
  }

  socket.setNoDelay(true);
  socket.on('data', read);
  socket.on('drain', () => {
    blocked = false;
    flush();
    if (ended) socket.end();
    else updateReading();
    handlers.drained?.();
  });
  // 'close' follows every error.
  socket.on('error', (cause) => {
    error ??= cause;
  });
  socket.once('close', () => {
    ended = true;
    handlers.closed(error);
  });

  return {
    send,
    sendFrame,
    end,
    destroy,
    lastWritten: () => lastWritten,
    isWritable: () => !blocked && !ended && socket.writable,
    isBehind: () => isBehind,
    hold(value) {
      if (held && !value) lastReceived = performance.now();
      held = value;
      updateReading();
      if (!held) passOn();
    },
    silentMs: () => performance.now() - lastReceived,
  };
}

/** Splits the octets of one connection into frames; see `createFrameReader`. */
type FrameReader = {
  /**
   * Takes the next octets of the stream and returns the frames that they complete, in order. A frame that lies
   * completely in `chunk` is a view of it, not a copy: do not reuse the chunk's memory.
   */
  push(chunk: Uint8Array): Uint8Array[];
  /**
   * Returns the `command_length` that broke the stream (below 16 or above the limit), or null. No frame follows one.
   */
  invalidLength(): number | null;
};

/** Maximum octets of a PDU: a message_payload of 64 KiB and everything around it. */
export const MAX_FRAME = 70_000;

const LENGTH_OCTETS = 4;
const HEADER_OCTETS = 16;

/**
 * Creates a reader that splits a byte stream into PDU frames by their `command_length` (SMPP 3.4, 3.2). It copies each
 * octet at most once, however small the chunks, and holds back at most one frame of `maxLength` octets. The default
 * limit, `MAX_FRAME`, leaves room for a `message_payload` of 64 KiB; the limit is read for each frame, so that it may
 * change.
 */
export function createFrameReader(options: { maxLength?: () => number } = {}): FrameReader {
  const maxLength = options.maxLength ?? (() => MAX_FRAME);
  const lengthField: Uint8Array = Buffer.alloc(LENGTH_OCTETS);
  /** The buffer being filled: the length field, then the frame itself once its length is known. */
  let partial = lengthField;
  let filled = 0;
  let badLength: number | null = null;

  function readLength(bytes: Uint8Array, offset: number): number {
    const length = uint32(bytes, offset);
    if (length < HEADER_OCTETS || length > maxLength()) badLength = length;
    return length;
  }

  function fill(chunk: Uint8Array, offset: number): number {
    const count = Math.min(partial.length - filled, chunk.length - offset);
    partial.set(chunk.subarray(offset, offset + count), filled);
    filled += count;
    return offset + count;
  }

  /** Returns the frame when `partial` holds a complete one. A complete length field allocates its frame instead. */
  function completed(): Uint8Array | null {
    if (filled < partial.length) return null;
    const frame = partial;
    if (frame !== lengthField) {
      partial = lengthField;
      filled = 0;
      return frame;
    }
    const length = readLength(lengthField, 0);
    if (badLength !== null) return null;
    partial = Buffer.allocUnsafe(length);
    partial.set(lengthField);
    return null;
  }

  /** Returns the length of a frame that lies completely in `chunk` at `offset`, or 0. */
  function wholeLength(chunk: Uint8Array, offset: number): number {
    if (filled > 0 || chunk.length - offset < LENGTH_OCTETS) return 0;
    const length = readLength(chunk, offset);
    return length <= chunk.length - offset ? length : 0;
  }

  function push(chunk: Uint8Array): Uint8Array[] {
    const frames: Uint8Array[] = [];
    let offset = 0;
    while (offset < chunk.length && badLength === null) {
      const length = wholeLength(chunk, offset);
      if (badLength !== null) break;
      const frame = length > 0 ? chunk.subarray(offset, offset + length) : null;
      offset = frame ? offset + length : fill(chunk, offset);
      const complete = frame ?? completed();
      if (complete) frames.push(complete);
    }
    return frames;
  }

  return { push, invalidLength: () => badLength };
}

/** Reads a big-endian integer; the four octets must exist. */
function uint32(bytes: Uint8Array, offset: number): number {
  const octet = (at: number): number => bytes[offset + at] ?? 0;
  return octet(0) * 0x1000000 + ((octet(1) << 16) | (octet(2) << 8) | octet(3));
}

const SEQUENCE_OFFSET = 12;

/**
 * Encodes a deliver_sm without its sequence number, once: it needs less memory while it waits and is cheap to repeat.
 */
export function deliverFrame(message: Message): Buffer {
  return encodePdu({ ...message, command: 'deliver_sm', status: 0, sequence: 0 });
}

/** Writes the sequence number into the frame and returns the same frame. */
export function withSequence(frame: Buffer, sequence: number): Buffer {
  frame.writeUInt32BE(sequence, SEQUENCE_OFFSET);
  return frame;
}

/** Returns a copy without optional parameters, for clients that bound with an interface_version below 0x34. */
export function withoutTlvs(frame: Buffer): Buffer {
  const pdu = decodePdu(frame);
  return 'command' in pdu && pdu.command === 'deliver_sm' ? encodePdu({ ...pdu, tlvs: NO_TLVS }) : frame;
}

/** A listening socket that can be closed and reopened. */
export type Listener = {
  readonly port: number;
  /** Listens again on the same port. */
  open(): Promise<void>;
  /** Stops listening; open connections stay. */
  close(): void;
  /** Destroys every connection, even during its TLS handshake; resolves when all are closed. */
  drop(): Promise<void>;
};

/** Starts listening on a port that can be closed and reopened. Rejects when the port is not available. */
export async function createListener(server: Server, host: string, port: number): Promise<Listener> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  // A client that aborts its TLS handshake is not an error of the server.
  server.on('tlsClientError', () => undefined);
  await listen(server, host, port);
  const address = server.address();
  const bound = typeof address === 'object' && address ? address.port : port;

  return {
    port: bound,
    open: async () => (server.listening ? undefined : listen(server, host, bound)),
    close: () => void (server.listening && server.close()),
    async drop() {
      const closing = [...sockets].map((socket) => once(socket, 'close'));
      for (const socket of sockets) socket.destroy();
      await Promise.allSettled(closing);
    },
  };
}

async function listen(server: Server, host: string, port: number): Promise<void> {
  server.listen(port, host);
  await once(server, 'listening');
}
