import type { Receipt } from '../../carriers/events.ts';

type Batches = ReadonlyMap<number, readonly Receipt[]>;

/** Receipts of batches that this process stored lately and that wait to be worked off, by the id of the batch. */
export type RecentBatches = {
  put(batchId: number, receipts: readonly Receipt[]): void;
  /** Those of this moment; what is put or forgotten later changes nothing in the answer. */
  batches(): Batches;
  forget(batchIds: readonly number[]): void;
};

/** More wait only when the database is slower than the carriers; then they are read from there. */
const MOST_KEPT = 5000;

/**
 * A copy of what is committed, never the only place of it: whoever works off a batch that is here need not read and
 * parse it again. Another worker may take a batch, and then it stays here until newer ones need the room.
 */
export function createRecentBatches(mostKept = MOST_KEPT): RecentBatches {
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
      // The database keeps another character in its place, and that is the one that counts.
      if (receipts.some(hasNul)) return;
      batches.set(batchId, receipts);
      kept += receipts.length;
      for (const oldest of batches.keys()) {
        if (kept <= mostKept) return;
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
