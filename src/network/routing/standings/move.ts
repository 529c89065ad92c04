import type { Pool } from 'pg';
import { transaction } from '../../../platform/db/transaction.ts';
import { notifyRoutingChange } from '../../connections/sql.ts';
import { listPolicies } from '../policies/sql.ts';
import { keyOf } from './key.ts';
import * as db from './sql.ts';
import { nextStanding } from './standing.ts';

/**
 * Recomputes the standings of connections by the policies by cost; running processes follow immediately when one has
 * changed. One worker at a time does it. Returns how many standings have changed.
 */
export function moveStandings(pool: Pool): Promise<number> {
  return transaction(pool, async (tx) => {
    if (!(await db.claimStandings(tx))) return 0;
    const [policies, figures, before] = [await listPolicies(tx), await db.listFigures(tx), await db.listStandings(tx)];
    const known = new Map(before.map((row) => [keyOf(row), row]));
    const policyOf = new Map(policies.map((policy) => [policy.id, policy]));
    const rows = figures.flatMap((row) => {
      const policy = policyOf.get(row.policyId);
      return policy
        ? [{ ...row, standing: nextStanding(known.get(keyOf(row))?.standing ?? 'trial', row, policy) }]
        : [];
    });
    const current = new Set(rows.map(keyOf));
    const gone = before.filter((row) => !current.has(keyOf(row)));
    await db.insertStandings(tx, rows);
    if (gone.length > 0) await db.deleteStandings(tx, gone);
    const moved = rows.filter((row) => row.standing !== (known.get(keyOf(row))?.standing ?? 'trial')).length;
    const changed = moved + gone.filter(({ standing }) => standing !== 'trial').length;
    if (changed > 0) await notifyRoutingChange(tx);
    return changed;
  });
}
