import type { Pool } from 'pg';
import type { Receipt } from '../carriers/events.ts';
import { groupCommit } from '../db/group-commit.ts';
import { insertReceiptBatches } from './sql.ts';

type Arrived = { readonly connectionId: number; readonly receipt: Receipt };

/**
 * The durable inbox of receipts: the promise resolves when the receipt is committed, and only then may the carrier be
 * answered. `onStored` is called after each commit.
 */
export function createReceiptInbox(pool: Pool, onStored: () => void): (arrived: Arrived) => Promise<void> {
  return groupCommit<Arrived, void>({
    maxItems: 1000,
    inFlight: 1,
    async flush(items) {
      const byConnection = new Map<number, Receipt[]>();
      for (const { connectionId, receipt } of items) {
        const receipts = byConnection.get(connectionId);
        if (receipts) receipts.push(receipt);
        else byConnection.set(connectionId, [receipt]);
      }
      await insertReceiptBatches(
        pool,
        [...byConnection].map(([connectionId, receipts]) => ({ connectionId, receipts })),
      );
      onStored();
      return items.map(() => undefined);
    },
  });
}
