import type { Db } from '../../platform/db/query.ts';
import { withdraw } from '../../network/dispatch/withdrawals/withdraw.ts';
import { insertOpenStates, type Key } from './sql.ts';

/**
 * Takes messages back that no carrier has seen: they are withdrawn from the queue and have a state that the caller moves
 * to their end in the same transaction, which returns their credit.
 *
 * @returns the ids that waited
 */
export async function withdrawFromQueue(tx: Db, keys: readonly Key[]): Promise<Set<string>> {
  const waiting = await withdraw(tx, keys);
  if (waiting.size > 0)
    await insertOpenStates(
      tx,
      keys.filter((key) => waiting.has(key.id)),
    );
  return waiting;
}
