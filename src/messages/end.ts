import { settleCharges } from '../credit/charge.ts';
import type { Db } from '../db/query.ts';
import { boundsOf } from './deliver.ts';
import { STATUS } from './states.ts';
import * as db from './sql.ts';

/**
 * Brings messages to their final state, in the caller's transaction: forward only, off the list of unknown outcomes,
 * and with what was frozen for them settled. Each message at most once in a call; call it last in the transaction,
 * since the balance of the account is locked from here to the commit.
 *
 * @returns the ids of the messages that moved
 */
export async function endMessages(tx: Db, moves: readonly db.StateMove[]): Promise<Set<string>> {
  if (moves.length === 0) return new Set();
  const [firstId, lastId] = boundsOf(moves.map((move) => move.id));
  const moved = await db.moveStates(tx, { moves, firstId, lastId });
  const held = moved.filter((message) => message.held);
  if (held.length > 0) await settleHeld(tx, held, new Map(moves.map((move) => [move.id, move.status])));
  return new Set(moved.map((message) => message.id));
}

/**
 * The price of a message whose outcome was open (unknown, or refundable): earned when it was delivered or when the
 * price is not given back, except that nobody pays for what was never confirmed in time.
 */
async function settleHeld(
  tx: Db,
  held: readonly { readonly accountId: number; readonly id: string }[],
  statusOf: ReadonlyMap<string, number>,
): Promise<void> {
  await db.deleteUnknowns(
    tx,
    held.map(({ accountId, id }) => ({ accountId, messageId: id })),
  );
  const charges = (await db.listCharges(tx, held)).map((charge) => ({ ...charge, micros: charge.priceMicros }));
  const isEarned = ({ id, refundUndelivered }: (typeof charges)[number]): boolean => {
    const status = statusOf.get(id);
    return status === STATUS.DELIVERED || (!refundUndelivered && status === STATUS.UNDELIVERABLE);
  };
  await settleCharges(tx, {
    earned: charges.filter(isEarned),
    returned: charges.filter((charge) => !isEarned(charge)),
    reference: held[0]?.id ?? '',
  });
}
