import { settleCharges } from '../credit/charge.ts';
import type { Db } from '../db/query.ts';
import { boundsOf } from './deliver.ts';
import { insertEvents, type NewEvent } from './events/sql.ts';
import { moveToNameless } from '../unknowns/sql.ts';
import { STATUS } from './states.ts';
import { tellEnds } from './tell.ts';
import * as db from './sql.ts';

/**
 * Brings messages to their final state, in the caller's transaction: forward only, off the list of unknown outcomes,
 * and with what was frozen for them settled. Each message at most once in a call; call it last in the transaction,
 * since the balance of the account is locked from here to the commit.
 *
 * @returns the ids of the messages that stayed as they were, since they had an end already
 */
export async function endMessages(tx: Db, moves: readonly db.StateMove[]): Promise<Set<string>> {
  if (moves.length === 0) return new Set();
  const [firstId, lastId] = boundsOf(moves.map((move) => move.id));
  const special = await db.moveStates(tx, { moves, firstId, lastId });
  const moveOf = ({ n }: db.Moved): db.StateMove => moves[n] as db.StateMove;
  const stayed = new Set(special.filter(({ moved }) => !moved).map((moved) => moveOf(moved).id));
  await Promise.all([
    insertEvents(
      tx,
      special.flatMap((moved) => toReplaced(moveOf(moved), moved)),
    ),
    tellEnds(tx, moves, stayed),
  ]);
  const held = special.filter((moved) => moved.held).map(moveOf);
  if (held.length > 0) await settleHeld(tx, held);
  return stayed;
}

/** A message that we had given up and that the carrier delivered after all: its state forgets the former end. */
const toReplaced = ({ accountId, id }: db.StateMove, { expiredAt }: db.Moved): NewEvent[] =>
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
async function settleHeld(tx: Db, held: readonly db.StateMove[]): Promise<void> {
  const statusOf = new Map(held.map((move) => [move.id, move.status]));
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
