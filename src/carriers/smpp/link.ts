import type { Socket } from 'node:net';
import { createFrameReader } from './frames.ts';
import { decodePdu, encodePdu, type Pdu } from './pdu.ts';
import { STATUS } from './status.ts';

/** Events that a link reports to its session. */
export type LinkHandlers = {
  /** A valid PDU of this many octets arrived. */
  pdu(pdu: Pdu, octets: number): void;
  /** The peer sent invalid framing or an invalid PDU; a generic_nack was queued. */
  broken(reason: string): void;
  /** The connection has ended. Called once; nothing is received or sent after it. */
  closed(): void;
};

/** One TCP or TLS connection as a stream of PDUs. */
export type Link = {
  /** Sends a PDU together with all others of this tick. `written` runs when the socket takes it. */
  send(pdu: Pdu, written?: () => void): void;
  /** Same as `send`, with an encoded PDU. */
  sendFrame(frame: Buffer, written?: () => void): void;
  /** Sends queued data, then closes; destroys the connection after half a second if the peer does not close it. */
  end(): void;
  /** Closes immediately, without sending queued data. */
  destroy(): void;
  /**
   * Stops or resumes reading. While held, no PDU is passed on, even if it has arrived: at most one piece read from the
   * socket waits here, and everything else waits at the peer.
   */
  hold(held: boolean): void;
  /** Returns the milliseconds since the peer last completed a PDU: a partial PDU, however slow, counts as silence. */
  silentMs(): number;
};

/** PDUs that are handled before the event loop turns: some 60 µs. One read of a socket holds up to 4,096. */
const MAX_PER_TURN = 64;
/** Maximum unread octets; beyond it, the peer's requests are no longer read. */
const MAX_UNREAD_OCTETS = 1 << 20;
const CLOSE_MS = 500;

/**
 * Creates a link that speaks PDUs over a socket: one write per tick, and a generic_nack for invalid PDUs. It handles 64
 * PDUs in one turn of the event loop, and reads no more until those that have arrived are handled. A PDU of more than
 * `maxLength` octets (by default `MAX_FRAME`), as it is when the PDU begins, ends the link.
 */
export function createLink(socket: Socket, handlers: LinkHandlers, options: { maxLength?: () => number } = {}): Link {
  const reader = createFrameReader(options);
  /** Frames that have arrived; those before `next` were passed on. */
  let arrived: Uint8Array[] = [];
  let next = 0;
  let passing = false;
  let pending: Buffer[] = [];
  let whenWritten: (() => void)[] = [];
  let flushing = false;
  let ended = false;
  let held = false;
  let congested = false;
  /** True while more has arrived than one turn handles. */
  let isBehind = false;
  let lastReceived = performance.now();

  function sendFrame(frame: Buffer, written?: () => void): void {
    if (ended || socket.destroyed) return;
    pending.push(frame);
    if (written) whenWritten.push(written);
    if (flushing) return;
    flushing = true;
    setImmediate(flush);
  }

  function send(pdu: Pdu, written?: () => void): void {
    sendFrame(encodePdu(pdu), written);
  }

  function flush(): void {
    flushing = false;
    const [octets, callbacks] = [pending, whenWritten];
    pending = [];
    whenWritten = [];
    const [first] = octets;
    if (first === undefined || !socket.writable) return;
    socket.write(octets.length === 1 ? first : Buffer.concat(octets));
    congested = socket.writableLength > MAX_UNREAD_OCTETS;
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
    const last = Math.min(arrived.length, next + MAX_PER_TURN);
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
    if (held || congested || isBehind) socket.pause();
    else socket.resume();
  }

  function readFrame(frame: Uint8Array): void {
    const pdu = decodePdu(frame);
    if (!('failure' in pdu)) {
      handlers.pdu(pdu, frame.length);
      return;
    }
    const status = pdu.failure === 'unknown_command' ? STATUS.ESME_RINVCMDID : STATUS.ESME_RINVCMDLEN;
    send({ command: 'generic_nack', status, sequence: pdu.sequence });
    handlers.broken(`${pdu.reason} (command_id 0x${pdu.commandId.toString(16)})`);
  }

  function refuseLength(length: number | null): void {
    send({ command: 'generic_nack', status: STATUS.ESME_RINVCMDLEN, sequence: 0 });
    handlers.broken(`command_length ${length}`);
    end();
  }

  function end(): void {
    if (ended) return;
    flush();
    ended = true;
    // The remaining input is still read: a reset because of unread octets could overtake the last response.
    socket.end();
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
    congested = false;
    updateReading();
  });
  // 'close' follows every error, and nothing else matters here.
  socket.on('error', () => undefined);
  socket.once('close', () => {
    ended = true;
    handlers.closed();
  });

  return {
    send,
    sendFrame,
    end,
    destroy,
    hold(value) {
      held = value;
      updateReading();
      if (!held) passOn();
    },
    silentMs: () => performance.now() - lastReceived,
  };
}
