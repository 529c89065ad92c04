/**
 * Callback with the result of a request: the status of its response; null when none came, because of a time-out or a
 * closed connection.
 */
export type Settled = (status: number | null) => void;

/** The deliver_sm of one bind that wait for their response. */
export type DeliverWindow = {
  /** Returns how many more may be sent. */
  room(): number;
  /** Returns how many wait. */
  count(): number;
  /** Adds a request that was sent under this sequence number. */
  add(sequence: number, settled: Settled): void;
  /** Settles a request; false when none with this sequence number waits. */
  answered(sequence: number, status: number): boolean;
  /** Settles those that have waited too long. Returns how many there were. */
  expire(now: number): number;
  /** Settles all. */
  close(): void;
};

/** Creates the window of one bind; `size` returns how many requests it holds now. Each is settled exactly once. */
export function createDeliverWindow(size: () => number, timeoutMs: number): DeliverWindow {
  /** By sequence number, in the order of sending. */
  const open = new Map<number, { readonly settled: Settled; readonly sentAt: number }>();
  const settle = (sequence: number, status: number | null): boolean => {
    const one = open.get(sequence);
    open.delete(sequence);
    one?.settled(status);
    return one !== undefined;
  };
  return {
    room: () => Math.max(0, size() - open.size),
    count: () => open.size,
    add: (sequence, settled) => void open.set(sequence, { settled, sentAt: performance.now() }),
    answered: settle,
    expire(now) {
      const overdue = [...open].filter(([, { sentAt }]) => now - sentAt > timeoutMs);
      for (const [sequence] of overdue) settle(sequence, null);
      return overdue.length;
    },
    close() {
      for (const sequence of open.keys()) settle(sequence, null);
    },
  };
}
