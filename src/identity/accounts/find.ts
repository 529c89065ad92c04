import type { Db } from '../../platform/db/query.ts';
import { AppError } from '../../platform/errors.ts';
import { type AccountRow, listAccountsByName } from './sql.ts';

/**
 * Finds the account that an operator refers to by id or name; an id takes precedence over a name that looks like one.
 * Errors: 404 when there is none, 409 when several accounts have the name.
 */
export async function findAccount(db: Db, { reference }: { reference: string }): Promise<AccountRow> {
  const id = /^[1-9]\d{0,14}$/.test(reference) ? Number(reference) : null;
  const accounts = await listAccountsByName(db, { name: reference, id });
  const account = accounts.find((candidate) => candidate.id === id) ?? accounts[0];
  if (!account) throw new AppError('not_found', { message: `There is no account ${reference}` });
  if (accounts.length > 1 && account.id !== id) {
    const ids = accounts.map((candidate) => candidate.id).join(', ');
    throw new AppError('conflict', { message: `Several accounts have the name ${reference}: use an id (${ids})` });
  }
  return account;
}
