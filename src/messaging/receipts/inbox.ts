import type { Pool } from 'pg';
import type { Receipt } from '../../carriers/events.ts';
import { groupCommit } from '../../platform/db/group-commit.ts';
import { createRecentBatches, type RecentBatches } from './recent.ts';
import { insertReceiptBatches } from './sql.ts';

type Arrived = { readonly connectionId: number; readonly receipt: Receipt };

/** Receipts that are committed together, and the promise that resolves for all of them. */
type Batch = { readonly byConnection: Map<number, Receipt[]>; readonly stored: Promise<void>; count: number };

const MAX_RECEIPTS_PER_BATCH = 1000;

/**
 * Creates the durable inbox of receipts: the promise resolves when the receipt is committed, and only then may the
 * carrier be answered. Receipts that arrive while a commit is in progress go into the next one together and share its
 * promise, because a promise per receipt costs measurable CPU time. `onStored` is called after each commit; what
 * was committed stays in `recent` for the tasks of this process.
 */
export function createReceiptInbox(
  pool: Pool,
  onStored: () => void,
  recent: RecentBatches = createRecentBatches(),
): (arrived: Arrived) => Promise<void> {
  /** The batch that still accepts receipts. */
  let open: Batch | null = null;

  const store = groupCommit<Batch['byConnection'], void>({
    maxItems: 1,
    inFlight: 1,
    async flush(items) {
      const [byConnection = new Map<number, Receipt[]>()] = items;
      if (open?.byConnection === byConnection) open = null;
      const batches = [...byConnection].map(([connectionId, receipts]) => ({ connectionId, receipts }));
      for (const { id, connectionId } of await insertReceiptBatches(pool, batches))
        recent.put(id, byConnection.get(connectionId) ?? []);
      onStored();
      return [undefined];
    },
  });

  function openBatch(): Batch {
    const byConnection = new Map<number, Receipt[]>();
    return { byConnection, stored: store(byConnection), count: 0 };
  }

  return ({ connectionId, receipt }) => {
    const batch = (open ??= openBatch());
    const receipts = batch.byConnection.get(connectionId);
    if (receipts) receipts.push(receipt);
    else batch.byConnection.set(connectionId, [receipt]);
    batch.count += 1;
    if (batch.count === MAX_RECEIPTS_PER_BATCH) open = null;
    return batch.stored;
  };
}
