import { GATEWAY_ACCOUNT_ID } from '../../identity/audit/record.ts';
import type { Db } from '../../platform/db/query.ts';
import { insertAsked, listUsedUp } from './sql.ts';

/** Number of look-ups that an account requests. */
export type Wanted = { readonly accountId: number; readonly lookups: number };

/**
 * Counts look-ups against the budgets of their accounts and of the installation for today, and returns how many each
 * may have. Rejected ones count too, so that the rows show the demand.
 */
export async function takeLookups(db: Db, perDay: number, wanted: readonly Wanted[]): Promise<number[]> {
  const sums = new Map<number, number>();
  for (const { accountId, lookups } of wanted) sums.set(accountId, (sums.get(accountId) ?? 0) + lookups);
  const own = await take(
    db,
    [...sums].map(([accountId, asked]) => ({ accountId, asked, allowed: null })),
  );
  const total = own.values().reduce((sum, granted) => sum + granted, 0);
  const all =
    total === 0 ? new Map() : await take(db, [{ accountId: GATEWAY_ACCOUNT_ID, asked: total, allowed: perDay }]);
  let left = all.get(GATEWAY_ACCOUNT_ID) ?? 0;
  return wanted.map(({ accountId, lookups }) => {
    const ownLeft = own.get(accountId) ?? 0;
    const granted = Math.min(lookups, ownLeft, left);
    own.set(accountId, ownLeft - granted);
    left -= granted;
    return granted;
  });
}

type Asked = Parameters<typeof insertAsked>[1][number];

/** Counts the look-ups that accounts request; returns how many of them each may have. */
async function take(db: Db, rows: readonly Asked[]): Promise<Map<number, number>> {
  const now = new Map(rows.map(({ accountId, asked }) => [accountId, asked]));
  return new Map(
    (await insertAsked(db, rows)).map(({ accountId, asked, allowed }) => {
      const wanted = now.get(accountId) ?? 0;
      return [accountId, allowed === null ? wanted : Math.max(0, Math.min(wanted, allowed - (asked - wanted)))];
    }),
  );
}

/** Finds the look-ups of the installation if those of today are used up. */
export const findInstallationUsedUp = async (db: Db) =>
  (await listUsedUp(db)).find(({ accountId }) => accountId === GATEWAY_ACCOUNT_ID);

/** Counts the accounts whose look-ups of today are used up. */
export const countUsedUp = async (db: Db): Promise<number> =>
  (await listUsedUp(db)).filter(({ accountId }) => accountId !== GATEWAY_ACCOUNT_ID).length;
