import { type Author, recordAudit } from '../../audit/record.ts';
import type { Db } from '../../../platform/db/query.ts';
import { moveRate } from '../sql.ts';
import { moveAllowList } from './sql.ts';

/**
 * What each key and user of the author's account may ask for from the next request on: null is the plan's, 0 a minute
 * no limit. Call it in a transaction.
 */
export async function setRate(
  tx: Db,
  author: Author,
  rate: { perMinute: number | null; perSecond: number | null },
): Promise<void> {
  const { accountId } = author;
  await moveRate(tx, { accountId, ...rate });
  await recordAudit(tx, author, { action: 'account.limit', subject: `account:${accountId}`, detail: rate });
}

/** Empties the allow-list of the author's account and lets every address in. Call it in a transaction. */
export async function openToAll(tx: Db, author: Author): Promise<void> {
  const { accountId } = author;
  const detail = { ipAllowList: [], enforced: false };
  await moveAllowList(tx, { accountId, ...detail });
  await recordAudit(tx, author, { action: 'account.security', subject: `account:${accountId}`, detail });
}
