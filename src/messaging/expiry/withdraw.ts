import type { Db } from '../../platform/db/query.ts';
import { withdrawMessages } from '../../network/dispatch/withdrawals/withdraw.ts';
import { insertOpenStates, type Key } from './sql.ts';

/**
 * Withdraws messages that no carrier has seen from the queue and gives them an open state. The caller moves it to a
 * final state in the same transaction, which returns their credit.
 *
 * @returns the ids of the messages that were withdrawn
 */
export async function withdrawFromQueue(tx: Db, keys: readonly Key[]): Promise<Set<string>> {
  const waiting = await withdrawMessages(tx, keys);
  if (waiting.size > 0)
    await insertOpenStates(
      tx,
      keys.filter((key) => waiting.has(key.id)),
    );
  return waiting;
}
