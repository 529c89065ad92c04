import type { Pool } from 'pg';
import { tenantTransaction } from '../../platform/db/tenant.ts';
import type { Actor } from '../../platform/lib/actor.ts';
import type { FirstStepsOut } from './schema.ts';
import { findOwnSteps, findSharedSteps } from './sql.ts';

/**
 * Finds the setup steps that are done: those of the gateway, which all accounts share, and those of the account. Each
 * is the existence of a row, so it costs the same in a large account.
 */
export async function findFirstSteps(pool: Pool, actor: Actor): Promise<FirstStepsOut> {
  const { accountId } = actor;
  const [shared, own] = await Promise.all([
    findSharedSteps(pool),
    tenantTransaction(pool, actor, (tx) => findOwnSteps(tx, { accountId })),
  ]);
  return { ...shared, ...own };
}
