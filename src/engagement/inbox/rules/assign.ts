import type { Db } from '../../../platform/db/query.ts';
import type { ChangedConversation } from '../sql.ts';
import * as db from './sql.ts';

/**
 * Assigns unassigned conversations of an account to its available users in turn, the one who has waited longest first.
 * The caller has claimed the inbox of the account, so that two conversations never count as the same turn.
 */
export async function assignInTurn(
  tx: Db,
  { accountId, conversations }: { readonly accountId: number; readonly conversations: readonly ChangedConversation[] },
): Promise<void> {
  const free = conversations.filter(({ assigneeId }) => assigneeId === null);
  if (free.length === 0) return;
  const agents = await db.listAvailableAgents(tx, { accountId });
  const turns = free.flatMap(({ chatId }, place) => {
    const userId = agents[place % Math.max(1, agents.length)];
    return userId === undefined ? [] : [{ accountId, chatId, userId }];
  });
  if (turns.length === 0) return;
  await db.moveToAgents(tx, turns);
  await db.updateTurns(tx, turns);
}
