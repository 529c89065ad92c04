import type { Pool } from 'pg';
import { transaction } from '../../platform/db/transaction.ts';
import { insertRemovals } from '../../platform/storage/sql.ts';
import { moveToExpired } from './sql.ts';

const EXPORTS_A_TURN = 100;

/** Ends exports whose time is over, of any account, and gives their files away to be deleted. Answers how many. */
export const expireExports = (pool: Pool): Promise<number> =>
  transaction(pool, async (tx) => {
    const expired = await moveToExpired(tx, { limit: EXPORTS_A_TURN });
    for (const { accountId, fileKey } of expired)
      await insertRemovals(tx, { accountId, keys: [fileKey], afterSeconds: 0 });
    return expired.length;
  });
