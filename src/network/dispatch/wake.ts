import { EventEmitter } from 'node:events';
import type { Pool } from 'pg';

/** The NOTIFY channel for new work in the queue; the payload is the id of the connection. */
export const WAKE_CHANNEL = 'heliograph_dispatch';

/** Wakes the pumps of a connection when its queue has work. */
export type Waker = {
  /** Wakes the pumps in this process and in all others that may have the connection up. */
  wake(connectionId: number): void;
  /** Wakes only the pumps in this process: for a NOTIFY that was received. */
  wakeHere(connectionId: number): void;
  /** Sets whether workers in other processes may have the connection up; that is assumed until this is called. */
  setShared(connectionId: number, shared: boolean): void;
  /** Calls the listener at each wake-up; returns a function that removes it. */
  onWake(connectionId: number, listener: () => void): () => void;
};

/**
 * Creates a waker. Pumps in this process are woken immediately. Other processes are woken by NOTIFY, which is sent
 * outside the transaction that accepts messages (inside, it would make all commits wait for one lock) and at most one
 * statement at a time, so that bursts become one statement. A NOTIFY may be lost with the process; the slow poll of the
 * pumps makes up for that.
 *
 * None is sent for a connection that only the worker in this process has up (`setShared`): that would be a transaction
 * for each batch of single sends, and a second look at the queue. A worker elsewhere checks the queue when its first
 * bind is up, and announces it then; until the announcement arrives here, the slow poll (2 s) makes up for missing
 * notifications.
 */
export function createWaker(pool: Pool): Waker {
  const local = new EventEmitter().setMaxListeners(0);
  const pending = new Set<number>();
  const onlyHere = new Set<number>();
  let sending = false;

  async function send(): Promise<void> {
    sending = true;
    while (pending.size > 0) {
      const ids = [...pending];
      pending.clear();
      await pool
        .query('SELECT pg_notify($1, id::text) FROM unnest($2::bigint[]) AS id', [WAKE_CHANNEL, ids])
        .catch(() => undefined);
    }
    sending = false;
  }

  const wakeHere = (connectionId: number): void => {
    local.emit(String(connectionId));
  };
  return {
    wakeHere,
    wake(connectionId) {
      wakeHere(connectionId);
      if (onlyHere.has(connectionId)) return;
      pending.add(connectionId);
      if (!sending) void send();
    },
    setShared(connectionId, shared) {
      if (shared) onlyHere.delete(connectionId);
      else onlyHere.add(connectionId);
    },
    onWake(connectionId, listener) {
      local.on(String(connectionId), listener);
      return () => local.off(String(connectionId), listener);
    },
  };
}
