import type { Pool } from 'pg';
import { transaction } from '../../../platform/db/transaction.ts';
import { publishInboxChanges } from '../publish.ts';
import { claimInboxes, findAccountToWake, moveToAwake } from '../sql.ts';

const PER_TURN = 200;

/** Returns snoozed conversations of one account whose time has come to its list. Returns their number. */
export async function wakeConversations(pool: Pool): Promise<number> {
  const due = await findAccountToWake(pool);
  if (!due) return 0;
  const { accountId } = due;
  return transaction(pool, async (tx) => {
    await claimInboxes(tx, { accountIds: [accountId] });
    const changed = await moveToAwake(tx, { accountId, limit: PER_TURN });
    const events = changed.map(({ chatId }) => ({ accountId, kind: 'conversation', chatId, messageId: null }) as const);
    await publishInboxChanges(tx, { changed, events });
    return changed.length;
  });
}
