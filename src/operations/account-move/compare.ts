import type { Client } from 'pg';
import type { Sql } from '../../platform/db/query.ts';
import { type Fingerprint, fingerprint, type Reading } from './rows.ts';
import { findMoney, sumLedger } from './sql.ts';

/** A part of the rows of a table, as a subquery for the source and one for the target. */
export type Part = { readonly source: Sql; readonly target: Sql };

const fingerprints = (source: Client, target: Client, reading: Reading, part?: Part) =>
  Promise.all([fingerprint(source, reading, part?.source), fingerprint(target, reading, part?.target)]);

/** Whether source and target have the same rows of an account, by number and keys. */
export const isSame = async (source: Client, target: Client, reading: Reading): Promise<boolean> =>
  areSame(...(await fingerprints(source, target, reading)));

const areSame = (here: Fingerprint, there: Fingerprint): boolean =>
  here.count === there.count && here.keys === there.keys;

/** Compares the rows of an account, or a part of them. Returns their number. Throws when source and target differ. */
export async function compareRows(source: Client, target: Client, reading: Reading, part?: Part): Promise<number> {
  const [here, there] = await fingerprints(source, target, reading, part);
  if (!areSame(here, there))
    throw new Error(
      `The copy of ${reading.table} differs: ${here.count} rows in the source, ${there.count} in the target.`,
    );
  return here.count;
}

/** Throws when the sums of the ledger, or of a part of it, differ. */
export async function compareLedger(source: Client, target: Client, accountId: number, part?: Part): Promise<void> {
  const [here, there] = await Promise.all([
    sumLedger(source, { accountId, part: part?.source }),
    sumLedger(target, { accountId, part: part?.target }),
  ]);
  if (here !== there)
    throw new Error(`The copy of the ledger differs: "${here}" in the source, "${there}" in the target.`);
}

/** Throws when balance or frozen credit differ. */
export async function compareMoney(source: Client, target: Client, accountId: number): Promise<void> {
  const [here, there] = await Promise.all([findMoney(source, { accountId }), findMoney(target, { accountId })]);
  if (here !== there)
    throw new Error(`The copy of the credit differs: "${here}" in the source, "${there}" in the target.`);
}
