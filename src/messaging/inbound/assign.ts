import { operatorAuthor, recordAudit } from '../../identity/audit/record.ts';
import { connectionNamed } from '../../network/connections/find.ts';
import type { Db } from '../../platform/db/query.ts';
import { AppError, invalidFields } from '../../platform/errors.ts';
import * as db from './sql.ts';

/**
 * Converts a number without a plus to the form in which inbound messages store it: otherwise as the carrier writes it.
 */
export const plainNumber = (written: string): string => written.replace(/^\+(?=\d)/, '');

type Named = {
  /** The number as the carrier writes it, or `*` for every other number of the connection. */
  readonly number: string;
  /** The name of the connection. */
  readonly connection: string;
  readonly by: string;
};

/**
 * Assigns a number to an account, which then receives the messages to it. Assigning it again moves it to another
 * account. Call it in a transaction. Errors: 400 for the number, 404 for the connection.
 */
export async function assignNumber(
  tx: Db,
  { accountId, ...named }: Named & { readonly accountId: number },
): Promise<{ number: string }> {
  const numbered = await findNumbered(tx, named);
  await db.insertNumber(tx, { ...numbered, accountId });
  await record(tx, accountId, 'number.assign', named);
  return { number: numbered.number };
}

/**
 * Unassigns a number from its account, which keeps its messages. Call it in a transaction. Errors: 400 for the number,
 * 404 when the connection does not exist or no account has the number.
 */
export async function removeNumber(tx: Db, named: Named): Promise<void> {
  const accountId = await db.deleteNumber(tx, await findNumbered(tx, named));
  if (accountId === undefined)
    throw new AppError('not_found', { message: `No account has ${named.number} on ${named.connection}` });
  await record(tx, accountId, 'number.remove', named);
}

const record = (tx: Db, accountId: number, action: string, { number, connection, by }: Named): Promise<void> =>
  recordAudit(tx, operatorAuthor(accountId, by), { action, subject: `number:${number}`, detail: { connection } });

async function findNumbered(tx: Db, named: Named): Promise<db.Numbered> {
  const number = plainNumber(named.number);
  if (!/^(\d{1,20}|\*)$/.test(number))
    throw invalidFields([{ field: 'number', message: 'must be up to 20 digits, or *' }]);
  return { connectionId: (await connectionNamed(tx, named.connection)).id, number };
}
