import { EventEmitter } from 'node:events';
import type { Pool } from 'pg';

export const WAKE_CHANNEL = 'heliograph_dispatch';

/** Tells the pumps of a connection, here and in other processes, that the queue has work. */
export type Waker = {
  wake(connectionId: number): void;
  /** Wakes only this process: for what came in by NOTIFY. */
  wakeHere(connectionId: number): void;
  onWake(connectionId: number, listener: () => void): () => void;
};

/**
 * Local pumps hear at once. Other processes hear by NOTIFY, sent outside the accepting transaction (a NOTIFY inside
 * makes all commits wait for one lock) and at most one statement at a time, so bursts become one. It may be lost with
 * the process; the pumps' slow poll is the safety net.
 */
export function createWaker(pool: Pool): Waker {
  const local = new EventEmitter().setMaxListeners(0);
  const pending = new Set<number>();
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
      pending.add(connectionId);
      if (!sending) void send();
    },
    onWake(connectionId, listener) {
      local.on(String(connectionId), listener);
      return () => local.off(String(connectionId), listener);
    },
  };
}
