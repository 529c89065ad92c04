import type { Pool } from 'pg';
import { type Author, GATEWAY_ACCOUNT_ID, operatorAuthor, recordAudit } from '../../identity/audit/record.ts';
import { cancelMessages } from '../../messaging/cancellation/cancel.ts';
import { endMessages } from '../../messaging/messages/end.ts';
import { deleteUnmatchedOfSandbox } from '../../messaging/receipts/sql.ts';
import { EXPIRED_BY_US } from '../../messaging/messages/sql.ts';
import { STATUS } from '../../messaging/states.ts';
import { notifyRoutingChange } from '../../network/connections/sql.ts';
import type { Db } from '../../platform/db/query.ts';
import { transaction } from '../../platform/db/transaction.ts';
import { retireSandboxNetworks } from './networks.ts';
import { retireSmsc } from './smsc.ts';
import { retireSocial } from './social.ts';
import * as db from './sql.ts';

const BATCH_SIZE = 1000;

/** Removes everything that leads to the sandbox: messages would wait for a carrier that never starts. */
async function closeSandbox(pool: Pool): Promise<void> {
  await retireSmsc(pool);
  await retireSandboxNetworks(pool);
  await retireSocial(pool);
}

/**
 * Retires the sandbox completely, unless messages are open on it: nothing leads to it any more, its connections are
 * paused, and readiness, metrics, `doctor` and the lists omit them. Its receipts that match no message are deleted.
 * Numbers stay assigned, so that it can be restored as it was.
 *
 * @returns the messages that keep it from being retired; none when it is retired, or there is none
 */
export async function retireSandbox(pool: Pool, author: Author): Promise<db.OpenMessages[]> {
  await closeSandbox(pool);
  return transaction(pool, async (tx) => {
    const open = await db.listOpenMessages(tx);
    if (open.length > 0) return open;
    // Nothing is open any more, so that none of them can still find its message.
    await deleteUnmatchedOfSandbox(tx);
    await recordEach(tx, author, { connections: await db.moveToRetired(tx), sandbox: 'retired' });
    return [];
  });
}

/** Numbers of messages that were ended. */
export type EndedMessages = { readonly withdrawn: number; readonly givenUp: number };

/**
 * Retires the sandbox and ends its open messages: nothing leads to it any more, and it is retired before the first
 * message ends, so that `doctor` and the next start know what was interrupted. Queued messages end DELETED, those with
 * an outstanding receipt end EXPIRED; frozen credit returns, and no other channel follows. Messages that are being
 * submitted at this moment stay. Each batch takes a separate transaction, so the call can be repeated after an
 * interruption.
 */
export async function endOpenMessages(
  pool: Pool,
  { by, now }: { readonly by: string; readonly now: Date },
): Promise<EndedMessages> {
  await closeSandbox(pool);
  const author = operatorAuthor(GATEWAY_ACCOUNT_ID, by);
  await transaction(pool, async (tx) =>
    recordEach(tx, author, { connections: await db.moveToRetired(tx), sandbox: 'retired' }),
  );
  const withdrawn = await untilNone(async () => {
    const keys = await db.listWaiting(pool);
    return keys.length === 0 ? 0 : (await transaction(pool, (tx) => cancelMessages(tx, keys, { by, now }))).size;
  });
  const givenUp = await untilNone(() => giveUp(pool, now));
  return { withdrawn, givenUp };
}

async function untilNone(work: () => Promise<number>): Promise<number> {
  let all = 0;
  for (let count = await work(); count > 0; count = await work()) all += count;
  return all;
}

/**
 * Ends messages as the end of their validity does: no other channel follows, because someone may have seen the message
 * in a trial.
 */
async function giveUp(pool: Pool, doneAt: Date): Promise<number> {
  const keys = await db.listUnconfirmed(pool, { limit: BATCH_SIZE });
  if (keys.length === 0) return 0;
  const end = { status: STATUS.EXPIRED, doneAt, errorCode: EXPIRED_BY_US, errorText: 'the sandbox was retired' };
  const stayed = await transaction(pool, (tx) =>
    endMessages(
      tx,
      keys.map((key) => ({ ...key, ...end })),
    ),
  );
  return keys.length - stayed.size;
}

/**
 * Lets the sandbox run next to real carriers, from the next start of the command `serve`, which creates its routes and
 * senders again. Returns the names of its connections; none when there never was a sandbox.
 */
export function restoreSandbox(pool: Pool, author: Author): Promise<string[]> {
  return transaction(pool, async (tx) => {
    const connections = await db.moveToKept(tx);
    await recordEach(tx, author, { connections, sandbox: 'kept' });
    return connections.map(({ name }) => name);
  });
}

type Moved = { readonly connections: readonly { readonly name: string }[]; readonly sandbox: 'retired' | 'kept' };

async function recordEach(tx: Db, author: Author, { connections, ...detail }: Moved): Promise<void> {
  for (const { name } of connections)
    await recordAudit(tx, author, { action: 'connection.change', subject: `connection:${name}`, detail });
  if (connections.length > 0) await notifyRoutingChange(tx);
}

/** Describes the open messages of the sandbox in words. */
export const describeOpen = (open: readonly db.OpenMessages[]): string =>
  open
    .map(({ connection, queued, unconfirmed }) => `${connection}: ${queued} wait, ${unconfirmed} without a receipt`)
    .join('; ');
