import type { Pool, PoolClient } from 'pg';
import { operatorAuthor, recordAudit } from '../../identity/audit/record.ts';
import { transaction } from '../../platform/db/transaction.ts';
import { AppError } from '../../platform/errors.ts';
import { cancelMessages } from '../cancellation/cancel.ts';
import { insertEvents } from '../messages/events/sql.ts';
import { claimMissed, moveMissedToQueue, notifyWake } from './sql.ts';

type Decision = {
  readonly id: number;
  /** The name of the operator who decides. */
  readonly by: string;
};

async function claim(tx: PoolClient, id: number) {
  const missed = Number.isSafeInteger(id) ? await claimMissed(tx, { id }) : undefined;
  if (!missed) throw new AppError('not_found', { message: `There is no missed schedule ${id}` });
  return missed;
}

type Decided = Decision & { readonly action: string; readonly messages: number };

const record = (tx: PoolClient, accountId: number, { action, id, by, messages }: Decided): Promise<void> =>
  recordAudit(tx, operatorAuthor(accountId, by), { action, subject: `schedule:${id}`, detail: { messages } });

/**
 * Sends a missed schedule now. Returns how many messages it has. Errors: 404 when the schedule was not missed, or the
 * decision about it has already been made.
 */
export function releaseMissed(pool: Pool, { id, by }: Decision): Promise<number> {
  return transaction(pool, async (tx) => {
    const { accountId, connectionId, ids } = await claim(tx, id);
    await moveMissedToQueue(tx, { id });
    await notifyWake(tx, { connectionId });
    await insertEvents(
      tx,
      ids.map((messageId) => ({ accountId, messageId, connectionId, kind: 'released', text: `by the operator ${by}` })),
    );
    await record(tx, accountId, { action: 'schedule.release', id, by, messages: ids.length });
    return ids.length;
  });
}

/**
 * Cancels a missed schedule: its messages end DELETED and their credit is returned. Returns how many there were.
 * Errors: 404 when the schedule was not missed, or the decision about it has already been made.
 */
export function cancelMissed(pool: Pool, { id, by, now }: Decision & { readonly now: Date }): Promise<number> {
  return transaction(pool, async (tx) => {
    const { accountId, ids } = await claim(tx, id);
    const keys = ids.map((messageId) => ({ accountId, id: messageId }));
    const messages = (await cancelMessages(tx, keys, { by: `the operator ${by}`, now })).size;
    await record(tx, accountId, { action: 'schedule.cancel', id, by, messages });
    return messages;
  });
}
