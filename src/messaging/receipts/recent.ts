import type { Receipt } from '../../carriers/events.ts';

type Batches = ReadonlyMap<number, readonly Receipt[]>;

/** The receipts of batches that this process stored recently and that wait to be processed, by the id of the batch. */
export type RecentBatches = {
  put(batchId: number, receipts: readonly Receipt[]): void;
  /** Returns a copy, which does not change when batches are put or forgotten later. */
  batches(): Batches;
  forget(batchIds: readonly number[]): void;
};

/** More receipts wait only when the database is slower than the carriers; the others are then read from there. */
const MAX_RECENT_RECEIPTS = 5000;

/**
 * Creates a cache of committed batches, so that a batch which this process processes need not be read and parsed again.
 * Another worker may process a batch; then it stays here until newer ones need the room.
 */
export function createRecentBatches(maxReceipts = MAX_RECENT_RECEIPTS): RecentBatches {
  const batches = new Map<number, readonly Receipt[]>();
  let kept = 0;

  function forget(batchIds: readonly number[]): void {
    for (const id of batchIds) {
      kept -= batches.get(id)?.length ?? 0;
      batches.delete(id);
    }
  }

  return {
    put(batchId, receipts) {
      // The database stores another character in place of a NUL, and its text is the one that counts.
      if (receipts.some(hasNul)) return;
      batches.set(batchId, receipts);
      kept += receipts.length;
      for (const oldest of batches.keys()) {
        if (kept <= maxReceipts) return;
        forget([oldest]);
      }
    },
    batches: () => new Map(batches),
    forget,
  };
}

const hasNul = ({ raw, sender, destination, errorCode, carrierIds }: Receipt): boolean =>
  raw.includes('\0') ||
  sender.includes('\0') ||
  destination.includes('\0') ||
  (errorCode?.includes('\0') ?? false) ||
  carrierIds.some((id) => id.includes('\0'));
