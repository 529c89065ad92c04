import { settleCharges } from '../credit/charge.ts';
import type { Db } from '../db/query.ts';
import { boundsOf } from './deliver.ts';
import { insertEvents, type NewEvent } from './events/sql.ts';
import { moveToNameless } from '../unknowns/sql.ts';
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
  await insertEvents(tx, moved.flatMap(toReplaced));
  const held = moved.filter((message) => message.held);
  if (held.length > 0) await settleHeld(tx, held, new Map(moves.map((move) => [move.id, move.status])));
  return new Set(moved.map((message) => message.id));
}

/** A message that we had given up and that the carrier delivered after all: its state forgets the former end. */
const toReplaced = ({ accountId, id, expiredAt }: Awaited<ReturnType<typeof db.moveStates>>[number]): NewEvent[] =>
  expiredAt === null
    ? []
    : [
        {
          accountId,
          messageId: id,
          kind: 'replaced',
          connectionId: null,
          text: null,
          details: { status: STATUS.EXPIRED, code: db.EXPIRED_BY_US },
          at: expiredAt,
        },
      ];

/**
 * Whether a price that was still frozen when the message reached this final state is earned: it was delivered, or it
 * was not and the price is not given back. Nobody pays for what was never confirmed in time.
 */
export const isEarned = (status: number, refundUndelivered: boolean): boolean =>
  status === STATUS.DELIVERED || (!refundUndelivered && status === STATUS.UNDELIVERABLE);

/** Settles the prices of messages whose outcome was open: waiting, unknown, or refundable. */
async function settleHeld(
  tx: Db,
  held: readonly { readonly accountId: number; readonly id: string }[],
  statusOf: ReadonlyMap<string, number>,
): Promise<void> {
  await moveToNameless(
    tx,
    held.map(({ accountId, id }) => ({ accountId, messageId: id })),
  );
  const charges = (await db.listCharges(tx, held)).map((charge) => ({ ...charge, micros: charge.priceMicros }));
  const earns = ({ id, refundUndelivered }: (typeof charges)[number]): boolean =>
    isEarned(statusOf.get(id) ?? STATUS.UNKNOWN, refundUndelivered);
  await settleCharges(tx, {
    earned: charges.filter(earns),
    returned: charges.filter((charge) => !earns(charge)),
    reference: held[0]?.id ?? '',
  });
}
