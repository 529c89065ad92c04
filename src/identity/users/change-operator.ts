import { type Author, recordAudit } from '../audit/record.ts';
import type { Db } from '../../platform/db/query.ts';
import { moveOperator } from './sql.ts';

/**
 * Makes a person of the author's account an operator of the gateway, or takes it from them; their next request sees it.
 * One who is so already stays it. Call it in a transaction that has the rights of the program: an account's are not
 * enough.
 */
export async function changeOperator(
  tx: Db,
  author: Author,
  change: { id: number; isOperator: boolean },
): Promise<void> {
  const { id, isOperator } = change;
  if ((await moveOperator(tx, { accountId: author.accountId, id, isOperator })) === 0) return;
  await recordAudit(tx, author, { action: 'user.operator', subject: `user:${id}`, detail: { isOperator } });
}
