import type { Socket } from 'node:net';
import { createFrameReader } from '../../carriers/smpp/frames.ts';
import { decodePdu, encodePdu, type Pdu } from '../../carriers/smpp/pdu.ts';
import { STATUS } from '../../carriers/smpp/status.ts';

/** What a link reports to its session. */
export type LinkHandlers = {
  /** A valid PDU arrived. */
  pdu(pdu: Pdu): void;
  /** The peer sent invalid framing or an invalid PDU; a generic_nack was queued. */
  broken(reason: string): void;
  /** The connection has ended. Called once; nothing is received or sent after it. */
  closed(): void;
};

/** One TCP or TLS connection as a stream of PDUs. */
export type Link = {
  /** Sends a PDU together with all others of this tick. `written` runs when the socket takes it. */
  send(pdu: Pdu, written?: () => void): void;
  /** Does the same as `send` with an encoded PDU. */
  sendFrame(frame: Buffer, written?: () => void): void;
  /** Sends what is queued, then closes; destroys the connection after half a second if the peer does not close it. */
  end(): void;
  /** Closes at once, without sending what is queued. */
  destroy(): void;
  /** Stops or resumes reading: while held, the peer sees a silent carrier. */
  hold(held: boolean): void;
  /** Returns the milliseconds since the peer last sent something. */
  silentMs(): number;
};

/** With more unread octets than this, the peer's requests are not read any more. */
const MAX_UNREAD_OCTETS = 1 << 20;
const CLOSE_MS = 500;

/** Creates a link that speaks PDUs over a socket: one write per tick, and a generic_nack for invalid PDUs. */
export function createLink(socket: Socket, handlers: LinkHandlers): Link {
  const reader = createFrameReader();
  let pending: Buffer[] = [];
  let whenWritten: (() => void)[] = [];
  let flushing = false;
  let ended = false;
  let held = false;
  let congested = false;
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
    if (congested) socket.pause();
    for (const callback of callbacks) callback();
  }

  function read(chunk: Uint8Array): void {
    lastReceived = performance.now();
    for (const frame of reader.push(chunk)) {
      if (ended) return;
      readFrame(frame);
    }
    if (reader.invalidLength() !== null && !ended) refuseLength(reader.invalidLength());
  }

  function readFrame(frame: Uint8Array): void {
    const pdu = decodePdu(frame);
    if (!('failure' in pdu)) {
      handlers.pdu(pdu);
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
    if (!held) socket.resume();
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
      if (held) socket.pause();
      else if (!congested) socket.resume();
    },
    silentMs: () => performance.now() - lastReceived,
  };
}
