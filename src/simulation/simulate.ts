import type { Pool } from 'pg';
import { type Db } from '../db/query.ts';
import { transaction } from '../db/transaction.ts';
import { endMessages } from '../messages/end.ts';
import { insertStates, type NewMessage } from '../messages/sql.ts';
import { STATUS } from '../messages/states.ts';
import { tellAccepted } from '../messages/tell.ts';
import * as db from './sql.ts';

const SOON_MS = 1000;
const LATE_MS = 30_000;
const BATCH = 1000;

type Ending = { readonly status: number; readonly delayMs: number } | null;

/** Contract 7: the last four digits of the number choose how a simulated message ends; null never gets a receipt. */
const ENDINGS: Readonly<Record<string, Ending>> = {
  '0001': { status: STATUS.UNDELIVERABLE, delayMs: SOON_MS },
  '0002': { status: STATUS.EXPIRED, delayMs: SOON_MS },
  '0003': { status: STATUS.REJECTED, delayMs: SOON_MS },
  '0004': null,
  '0005': { status: STATUS.DELIVERED, delayMs: LATE_MS },
};

function endingOf(destination: string): Ending {
  const ending = ENDINGS[destination.slice(-4)];
  return ending === undefined ? { status: STATUS.DELIVERED, delayMs: SOON_MS } : ending;
}

/** Puts simulated messages into ACCEPTED and plans their end, in the caller's transaction. */
export async function planSimulation(tx: Db, messages: readonly NewMessage[]): Promise<void> {
  await insertStates(
    tx,
    messages.map(({ accountId, id }) => ({
      accountId,
      id,
      status: STATUS.ACCEPTED,
      attempts: 1,
      connectionId: null,
      carrierId: null,
      submitted: true,
      errorCode: null,
      errorText: null,
      possibleDuplicate: false,
      creditHeld: false,
    })),
  );
  const planned = messages.flatMap(({ accountId, id, destination }) => {
    const ending = endingOf(destination);
    return ending === null ? [] : [{ accountId, messageId: id, ...ending }];
  });
  if (planned.length > 0) await db.insertSimulated(tx, planned);
  await tellAccepted(tx, messages);
}

/**
 * Ends the simulated messages whose time has come. Durable and claimed by rows, so that any worker may run it at any
 * time and a restart loses none.
 *
 * @returns how many ended
 */
export function endSimulated(pool: Pool): Promise<number> {
  return transaction(pool, async (tx) => {
    const due = await db.deleteDueSimulated(tx, BATCH);
    if (due.length === 0) return 0;
    const moves = due.map(({ accountId, messageId, status, dueAt }) => ({
      accountId,
      id: messageId,
      status,
      doneAt: dueAt,
      errorCode: null,
      errorText: status === STATUS.DELIVERED ? null : 'simulated',
    }));
    await endMessages(tx, moves);
    return due.length;
  });
}
