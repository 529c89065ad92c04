import { EVENTS_PER_ROW } from '../outbox/sql.ts';

/** Estimate of the outbox rows that hold a number of events. */
export type RowFill = {
  /** Returns how many rows to load for this many events. */
  rowsFor(events: number): number;
  /** Records the numbers of events of rows that were loaded. */
  loaded(counts: readonly number[]): void;
};

/**
 * Creates an estimate of how full the rows are: those of a bulk send hold 500 events, those of single sends and of
 * receipts often one. With the number of rows for full ones, a turn loaded three events of such an account, and no more
 * than 100 a second.
 */
export function createRowFill(): RowFill {
  let perRow = EVENTS_PER_ROW;
  return {
    rowsFor: (events) => Math.ceil(events / perRow),
    loaded(counts) {
      if (counts.length > 0) perRow = counts.reduce((sum, count) => sum + count, 0) / counts.length;
    },
  };
}
