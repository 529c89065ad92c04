import type { Db } from '../../platform/db/query.ts';
import { measureRows } from './rows.ts';
import { CARRIED, COPIED } from './tables.ts';

/** What an account has in one table: `copied` rows stay behind as they are, `taken along` rows do not. */
type MeasuredTable = {
  readonly name: string;
  readonly count: number;
  readonly octets: number;
  readonly place: 'copied' | 'taken along';
};

/** What an account has, in tables with rows of it. */
export type Measured = { readonly tables: readonly MeasuredTable[]; readonly rows: number; readonly octets: number };

/** Counts the rows of an account that would move. Reads all of them. */
export async function measureAccount(db: Db, accountId: number): Promise<Measured> {
  const tables: MeasuredTable[] = [];
  for (const [place, list] of [
    ['copied', COPIED],
    ['taken along', CARRIED],
  ] as const)
    for (const [table, rows] of Object.entries(list)) {
      const { count, octets } = await measureRows(db, { table, rows, accountId });
      if (count > 0) tables.push({ name: table, count, octets, place });
    }
  const total = (pick: (measured: MeasuredTable) => number): number => tables.reduce((sum, one) => sum + pick(one), 0);
  return { tables, rows: total(({ count }) => count), octets: total(({ octets }) => octets) };
}
