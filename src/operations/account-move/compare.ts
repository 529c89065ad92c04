import type { Client } from 'pg';
import { fingerprint, type Reading } from './rows.ts';
import { findMoney } from './sql.ts';

/** Returns the number of rows. Throws when source and target differ. */
export async function compareRows(source: Client, target: Client, reading: Reading): Promise<number> {
  const [here, there] = await Promise.all([fingerprint(source, reading), fingerprint(target, reading)]);
  if (here.count !== there.count || here.keys !== there.keys)
    throw new Error(
      `The copy of ${reading.table} differs: ${here.count} rows in the source, ${there.count} in the target.`,
    );
  return here.count;
}

/** Throws when balance, frozen credit or ledger differ. */
export async function compareMoney(source: Client, target: Client, accountId: number): Promise<void> {
  const [here, there] = await Promise.all([findMoney(source, { accountId }), findMoney(target, { accountId })]);
  if (here !== there)
    throw new Error(`The copy of the credit differs: "${here}" in the source, "${there}" in the target.`);
}
