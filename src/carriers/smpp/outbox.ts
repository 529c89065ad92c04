import type { Socket } from 'node:net';

export type Outbox = {
  /** Queues octets and returns their place in the line, counted from 1. */
  push(bytes: Buffer): number;
  /** The last place that the socket has been given; what lies behind it never left this process. */
  given(): number;
  /** Octets that wait here because the peer does not read fast enough. */
  waiting(): number;
  /** False from a `write` that returned false until the socket's `drain`. */
  open(): boolean;
  /** Gives the socket what is queued now instead of at the end of the tick. */
  flush(): void;
};

/**
 * Coalesces the writes of one tick into one: with small PDUs the cost is per write, not per octet.
 * While the socket pushes back, octets stay here, so that a cut connection does not make them "perhaps sent".
 */
export function createOutbox(socket: Socket): Outbox {
  let queue: Buffer[] = [];
  let queuedOctets = 0;
  let pushed = 0;
  let given = 0;
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
    given = pushed;
    blocked = !socket.write(batch);
  }

  socket.on('drain', () => {
    blocked = false;
    flush();
  });

  return { push, flush, given: () => given, waiting: () => queuedOctets, open: () => !blocked };
}
