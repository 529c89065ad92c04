import { createHash } from 'node:crypto';
import type { Pool } from 'pg';
import { applyConsentWords } from '../consent/record.ts';
import { transaction } from '../../platform/db/transaction.ts';
import * as db from './sql.ts';

/** A network's own button for what people otherwise write as STOP and START. */
export type Subscribed = {
  readonly identity: string;
  readonly phoneNumber: string;
  readonly subscribed: boolean;
  readonly at: Date | null;
};

/** As long as the network repeats it: an old "no" must not undo a newer "yes". */
const KEEP_SECONDS = 8 * 24 * 3600;

/** Notes who wants no RCS messages any more, for the account that has the sender. The same one counts once. */
export async function receiveSubscriptions(
  pool: Pool,
  connectionId: number,
  subscriptions: readonly Subscribed[],
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

const isNews = ({ at }: Subscribed): boolean => at === null || at.getTime() > Date.now() - KEEP_SECONDS * 1000;

const hashOf = ({ identity, phoneNumber, subscribed, at }: Subscribed): string =>
  createHash('sha256')
    .update(JSON.stringify(['subscription', identity, phoneNumber, subscribed, at]))
    .digest('hex');
