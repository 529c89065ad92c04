import type { Pool } from 'pg';
import type { Db } from '../db/query.ts';
import { transaction } from '../db/transaction.ts';
import { endMessages } from './end.ts';
import { insertEvents } from './events/sql.ts';
import type { Key } from './expiry/sql.ts';
import { takeBack } from './expiry/take-back.ts';
import type { StateMove } from './sql.ts';
import { STATUS } from './states.ts';

/**
 * Takes messages back that wait in the queue: they end DELETED and their credit returns, in the caller's transaction.
 *
 * @returns the ids that waited; of the others a carrier has seen something, or they have an end already
 */
export async function cancelMessages(
  tx: Db,
  keys: readonly Key[],
  { by, now }: { readonly by: string; readonly now: Date },
): Promise<Set<string>> {
  const waiting = await takeBack(tx, keys);
  const own = keys.filter((key) => waiting.has(key.id));
  await insertEvents(
    tx,
    own.map(({ accountId, id }) => ({ accountId, messageId: id, connectionId: null, kind: 'cancelled', text: by })),
  );
  return endMessages(
    tx,
    own.map((key) => toDeleted(key, by, now)),
  );
}

const toDeleted = ({ accountId, id }: Key, by: string, doneAt: Date): StateMove => ({
  accountId,
  id,
  status: STATUS.DELETED,
  doneAt,
  errorCode: 'CANCELLED',
  errorText: `cancelled by ${by} before it was sent`,
});

/** Cancels one message of the account, unless it is on its way or ended: false then, and nothing has changed. */
export const cancelMessage = (
  pool: Pool,
  { accountId }: { readonly accountId: number },
  { id, now }: { readonly id: string; readonly now: Date },
): Promise<boolean> =>
  transaction(pool, async (tx) => (await cancelMessages(tx, [{ accountId, id }], { by: 'the client', now })).has(id));
