import type { Pool } from 'pg';
import { GATEWAY_ACCOUNT_ID, operatorAuthor, recordAudit } from '../../identity/audit/record.ts';
import { transaction } from '../../platform/db/transaction.ts';
import { AppError, invalidFields } from '../../platform/errors.ts';
import type { SecretKey } from '../../platform/lib/secret-box.ts';
import { connectionNamed } from './find.ts';
import { kindOf } from './kinds/kinds.ts';
import type { SetupStep } from './kinds/setup.ts';
import { secretOf } from './save.ts';
import type { Connection } from './sql.ts';

/** Checks the set-up at the carrier of a connection; empty where nothing is needed. Never rejects. */
export async function checkSetup(connection: Connection, key: SecretKey): Promise<SetupStep[]> {
  const { setup } = kindOf(connection);
  return setup === null ? [] : setup.check({ ...connection, secret: secretOf(connection, key) });
}

/** The PIN of the two-step verification of WhatsApp numbers. */
const PIN = /^\d{6}$/;

/**
 * Sets up a connection at its carrier: on WhatsApp, subscribes the app to the business account, and registers numbers
 * when a PIN is given. Records it in the audit log. Errors: 404 without such a connection, or when its kind needs
 * nothing; 400 for a PIN that does not have six digits.
 */
export async function completeSetup(
  { pool, secretKey }: { readonly pool: Pool; readonly secretKey: SecretKey },
  { name, pin, by }: { readonly name: string; readonly pin: string | null; readonly by: string },
): Promise<SetupStep[]> {
  if (pin !== null && !PIN.test(pin)) throw invalidFields([{ field: 'pin', message: 'must have 6 digits' }]);
  const connection = await connectionNamed(pool, name);
  const { setup } = kindOf(connection);
  if (setup === null)
    throw new AppError('not_found', { message: `Nothing has to be set up at the carrier of connection ${name}` });
  const steps = await setup.complete({ ...connection, secret: secretOf(connection, secretKey) }, { pin });
  const detail = Object.fromEntries(steps.map((step) => [step.name, step.ok]));
  await transaction(pool, (tx) =>
    recordAudit(tx, operatorAuthor(GATEWAY_ACCOUNT_ID, by), {
      action: 'connection.set-up',
      subject: `connection:${name}`,
      detail,
    }),
  );
  return steps;
}
