import type { QueuedEvent, SettledEvent } from './account-queue.ts';
import type { OutboxRow } from '../outbox/sql.ts';
import type { DoneRow } from './record.ts';

type Event = Pick<QueuedEvent, 'id' | 'accountId' | 'outboxId'>;

/** Contents of one worker's memory: rows of the outbox, and events to retry. */
export type HeldEvents = {
  rowIds(): number[];
  retryIds(): string[];
  accountIds(): ReadonlySet<number>;
  /** Adds rows and retries. @param done events of these rows that are in the log already */
  hold(held: { rows: readonly OutboxRow[]; done: readonly Event[]; retries: readonly Event[] }): void;
  /** Returns the rows that have no further event once these have settled. */
  endedBy(settled: readonly SettledEvent[]): DoneRow[];
  /** Drops events that have settled and rows that have ended; call it after the commit. */
  release(settled: readonly SettledEvent[], ended: readonly DoneRow[]): void;
  /** Drops everything of an account. */
  drop(accountId: number): void;
};

/**
 * Keeps track of the rows and events that this worker holds, so that it loads nothing twice and knows when a row is
 * complete.
 */
export function createHeldEvents(): HeldEvents {
  /** Rows with the number of their events that have not settled. */
  const rows = new Map<number, { readonly accountId: number; left: number }>();
  const retries = new Map<string, number>();

  function settle({ outboxId }: Event): void {
    const row = outboxId === null ? undefined : rows.get(outboxId);
    if (row) row.left--;
  }
  return {
    rowIds: () => [...rows.keys()],
    retryIds: () => [...retries.keys()],
    accountIds: () => new Set(rows.values().map((row) => row.accountId)),
    hold(held) {
      for (const { id, accountId, messageIds } of held.rows) rows.set(id, { accountId, left: messageIds.length });
      held.done.forEach(settle);
      for (const { id, accountId } of held.retries) retries.set(id, accountId);
    },
    endedBy(settled) {
      const byRow = Map.groupBy(settled, ({ event }) => event.outboxId);
      return [...rows].flatMap(([id, { accountId, left }]) =>
        left === (byRow.get(id)?.length ?? 0) ? [{ id, accountId }] : [],
      );
    },
    release(settled, ended) {
      for (const { event } of settled) {
        settle(event);
        retries.delete(event.id);
      }
      for (const { id } of ended) rows.delete(id);
    },
    drop(accountId) {
      for (const [id, row] of rows) if (row.accountId === accountId) rows.delete(id);
      for (const [id, of] of retries) if (of === accountId) retries.delete(id);
    },
  };
}
