import type { Socket } from 'node:net';

/** The octets of one connection that are waiting to be written. */
export type Outbox = {
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
export function createOutbox(socket: Socket): Outbox {
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
