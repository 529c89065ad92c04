import { setTimeout as delay } from 'node:timers/promises';
import type { Pool } from 'pg';
import {
  countOwnedChunks,
  moveAccountFromParked,
  moveAccountToParked,
  wakeAccount,
} from '../../network/dispatch/parked/sql.ts';
import type { Db } from '../../platform/db/query.ts';
import { repeatedTransaction } from '../../platform/db/transaction.ts';
import { countOlderTransactions, deleteMove, findClock, findMoveForUpdate, hasWebhookClaim, markMove } from './sql.ts';

export type Leaving = {
  readonly accountId: number;
  readonly cell: number;
  /** Whether a directory must learn where the account is before it has arrived. */
  readonly hasDirectory: boolean;
};

/** Long enough for a worker to release an account whose events have all been sent (`RELEASE_AFTER_MS` of the deliveries). */
const WEBHOOKS_SECONDS = 15;
const POLL_MS = 20;

export const TOO_LATE = 'The time of the move is over, and the account is served again: begin anew.';

/**
 * Has the background work of an account end while it is still served: no worker takes up more of its events, and what waits
 * in its queue is parked, which took 4 s for 50,000 chunks. A worker that waits for a receiver that does not
 * answer is not waited for; its events are then sent again. All of it resumes 30 s and `thenSeconds` later, unless the
 * account is held by then.
 */
export async function prepare(source: Pool, leaving: Leaving & { thenSeconds: number }): Promise<void> {
  const { accountId, thenSeconds } = leaving;
  await mark(source, { ...leaving, state: 'preparing', seconds: 2 * WEBHOOKS_SECONDS + thenSeconds });
  const deadline = performance.now() + WEBHOOKS_SECONDS * 1000;
  while ((await hasWebhookClaim(source, { accountId })) && performance.now() < deadline) await delay(10 * POLL_MS);
  await park(source, accountId, 'preparing');
}

/**
 * Ends the service of an account for at most `seconds`: its requests are answered 503, its messages are parked, and what
 * carriers send for it is kept. Resolves when nothing writes for it any more.
 *
 * Rejects after three quarters of that time, with what is still in the way.
 */
export async function freeze(source: Pool, leaving: Leaving & { seconds: number }): Promise<void> {
  const { accountId, seconds } = leaving;
  await mark(source, { ...leaving, state: 'leaving' });
  // A transaction that began before this may not have seen the mark.
  const instant = await findClock(source);
  const deadline = performance.now() + seconds * 750;
  for (;;) {
    // Again and again: what a carrier puts off comes back as a chunk that is not parked.
    await park(source, accountId, 'leaving');
    const owned = await countOwnedChunks(source, { accountId });
    const older = await countOlderTransactions(source, { instant });
    if (owned === 0 && older === 0) return;
    if (performance.now() > deadline)
      throw new Error(
        owned > 0
          ? `Workers still send ${owned} chunks of the account: the answers of a carrier are late. Try again later.`
          : `${older} transactions that began before are still open: see pg_stat_activity. Try again later.`,
      );
    await delay(POLL_MS);
  }
}

/**
 * Parks what waits, unless a worker has ended the move in the meantime, because its time was over. A pump that returns chunks
 * may lock them in another order. PostgreSQL then ends one of the two transactions as a deadlock.
 */
const park = (source: Pool, accountId: number, state: 'preparing' | 'leaving'): Promise<void> =>
  repeatedTransaction(source, async (tx) => {
    if ((await findMoveForUpdate(tx, { accountId }))?.state !== state) throw new Error(TOO_LATE);
    if ((await moveAccountToParked(tx, { accountId })) > 0) await wakeAccount(tx, { accountId });
  });

async function mark(source: Pool, move: Leaving & { state: 'preparing' | 'leaving'; seconds: number }): Promise<void> {
  if ((await markMove(source, move)) === 0) throw new Error('The account has already left.');
}

/** Has an account that has not left served again, in the caller's transaction, which has locked its move. */
export async function thaw(tx: Db, { accountId }: { accountId: number }): Promise<void> {
  await moveAccountFromParked(tx, { accountId });
  await deleteMove(tx, { accountId, states: ['preparing', 'leaving'] });
  await wakeAccount(tx, { accountId });
}

/** As `thaw`, in a transaction of its own. Waits for a move in progress. */
export const thawNow = (source: Pool, account: { accountId: number }): Promise<void> =>
  repeatedTransaction(source, async (tx) => {
    if ((await deleteMove(tx, { ...account, states: ['preparing', 'leaving'] })) > 0) await thaw(tx, account);
  });
