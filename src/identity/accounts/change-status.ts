import { type Author, recordAudit } from '../audit/record.ts';
import type { Db } from '../../platform/db/query.ts';
import { type AccountStatus, moveAccountStatus, notifyAccountChange } from './sql.ts';

/**
 * Suspends or resumes the author's account, effective with its next request and on open binds. Does nothing if it has the status already.
 * Call it in a transaction.
 */
export async function changeStatus(
  tx: Db,
  author: Author,
  { from, to }: { from: AccountStatus; to: AccountStatus },
): Promise<void> {
  const { accountId } = author;
  if ((await moveAccountStatus(tx, { accountId, from, to })) === 0) return;
  const action = to === 'suspended' ? 'account.suspend' : 'account.resume';
  await recordAudit(tx, author, { action, subject: `account:${accountId}` });
  await notifyAccountChange(tx, { accountId });
}
