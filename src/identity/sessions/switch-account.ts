import { operatorAuthor, recordAudit } from '../audit/record.ts';
import type { Db } from '../../platform/db/query.ts';
import { AppError } from '../../platform/errors.ts';
import type { Actor } from '../../platform/lib/actor.ts';
import { findShownAccount, updateActingAccount } from './sql.ts';

/**
 * Lets an operator look at another account, even a suspended one; null returns to their own. The audit log of the
 * visited account records when an operator came and left. Returns the parts of the actor, as of the next request, that
 * describe the session. Call it in a transaction without the rights of an account: it changes several. Errors: 403 for
 * callers who are not operators or have no session; 404 for an unknown account.
 */
export async function switchAccount(
  tx: Db,
  actor: Actor,
  { accountId }: { accountId: number | null },
): Promise<Pick<Actor, 'accountId' | 'isOperator' | 'session'>> {
  const { session, isOperator = false } = actor;
  if (!session || !isOperator)
    throw new AppError('forbidden', { message: 'Only operators who are signed in may do this' });
  const [from, to] = [actor.accountId, accountId ?? session.accountId];
  if (!(await findShownAccount(tx, { accountId: to }))) throw new AppError('not_found');
  const { id, accountId: own, username } = session;
  const moved = await updateActingAccount(tx, { accountId: own, id, actingAccountId: to === own ? null : to });
  if (moved === 0) throw new AppError('unauthenticated');
  const visits = [
    { at: from, looks: false },
    { at: to, looks: true },
  ].filter(({ at }) => from !== to && at !== own);
  for (const { at, looks } of visits)
    await recordAudit(tx, operatorAuthor(at, username), {
      action: 'session.switch',
      subject: `account:${at}`,
      detail: { looks },
    });
  return { accountId: to, isOperator, session };
}
