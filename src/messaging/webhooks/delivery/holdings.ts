import type { LaneEvent, Settled } from './lane.ts';
import type { OutboxRow } from '../outbox/sql.ts';
import type { DoneRow } from './record.ts';

type Event = Pick<LaneEvent, 'id' | 'accountId' | 'outboxId'>;

/** What one worker has in memory: rows of the outbox, and events that are tried again. */
export type Holdings = {
  rowIds(): number[];
  retryIds(): string[];
  accountIds(): ReadonlySet<number>;
  /** @param done events of these rows that the log has already */
  hold(held: { rows: readonly OutboxRow[]; done: readonly Event[]; retries: readonly Event[] }): void;
  /** The rows that have no further event once these have settled. */
  endedBy(settled: readonly Settled[]): DoneRow[];
  /** These have settled, and that is committed. */
  release(settled: readonly Settled[], ended: readonly DoneRow[]): void;
  drop(accountId: number): void;
};

export function createHoldings(): Holdings {
  /** With how many of their events have not settled. */
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
