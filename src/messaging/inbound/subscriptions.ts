import { createHash } from 'node:crypto';
import type { Pool } from 'pg';
import { applyConsentWords } from '../consent/record.ts';
import { transaction } from '../../platform/db/transaction.ts';
import { DAY_MS, SECOND_MS } from '../../platform/lib/time.ts';
import * as db from './sql.ts';

/** Use of a network's own unsubscribe or subscribe button, instead of writing STOP or START. */
export type SubscriptionChange = {
  readonly identity: string;
  readonly phoneNumber: string;
  readonly subscribed: boolean;
  readonly at: Date | null;
};

/** Covers the time in which the network repeats a callback: an old "no" must not undo a newer "yes". */
const KEEP_SECONDS = (8 * DAY_MS) / SECOND_MS;

/** Records RCS subscription changes for the account that has the sender. A repeated callback counts once. */
export async function receiveSubscriptions(
  pool: Pool,
  connectionId: number,
  subscriptions: readonly SubscriptionChange[],
): Promise<void> {
  const byHash = new Map(subscriptions.filter(isNews).map((one) => [hashOf(one), one]));
  if (byHash.size === 0) return;
  await transaction(pool, async (tx) => {
    const rows = [...byHash.keys()].map((hash) => ({ connectionId, hash: Buffer.from(hash, 'hex') }));
    const seen = await db.insertSeen(
      tx,
      rows.map((row) => ({ ...row, keepSeconds: KEEP_SECONDS })),
    );
    const fresh = seen.flatMap(({ hash }) => byHash.get(hash.toString('hex')) ?? []);
    if (fresh.length === 0) return;
    const owners = await db.listOwners(tx, { numbers: fresh.map((one) => ({ connectionId, number: one.identity })) });
    const accountOf = new Map(owners.map((owner) => [owner.number, owner.accountId]));
    await applyConsentWords(
      tx,
      fresh.flatMap(({ identity, phoneNumber, subscribed }) => {
        const accountId = accountOf.get(identity);
        const body = subscribed ? 'START' : 'STOP';
        return accountId === undefined ? [] : [{ accountId, channel: 'RCS' as const, source: phoneNumber, body }];
      }),
    );
  });
}

const isNews = ({ at }: SubscriptionChange): boolean =>
  at === null || at.getTime() > Date.now() - KEEP_SECONDS * SECOND_MS;

const hashOf = ({ identity, phoneNumber, subscribed, at }: SubscriptionChange): string =>
  createHash('sha256')
    .update(JSON.stringify(['subscription', identity, phoneNumber, subscribed, at]))
    .digest('hex');
