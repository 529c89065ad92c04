import type { Pool } from 'pg';
import { parseSmppSettings } from '../carriers/smpp/settings.ts';
import { transaction } from '../db/transaction.ts';
import { AppError, invalidFields } from '../errors.ts';
import { open, seal, type SecretKey } from '../lib/secret-box.ts';
import { notifyRoutes } from '../routing/sql.ts';
import * as db from './sql.ts';

const placeOf = (id: number): string => `connection.secret/${id}`;

/** The password of a connection. Throws when it was sealed with another SECRET_KEY. */
export const passwordOf = (connection: db.Connection, key: SecretKey): string =>
  open(key, connection.secret, placeOf(connection.id)).toString();

export type NewConnection = {
  readonly name: string;
  /** As `SmppSettings`; defaults are filled in. */
  readonly settings: unknown;
  readonly password: string;
  readonly sandbox: boolean;
};

/** As the table checks it. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$/;

/**
 * Adds an SMPP connection; running workers connect at once. Errors: 400 naming the setting at fault, or for a name that
 * is not 1 to 63 letters, digits, dots, hyphens and underscores; 409 when it is taken.
 */
export async function createConnection(pool: Pool, key: SecretKey, input: NewConnection): Promise<{ id: number }> {
  if (!NAME.test(input.name))
    throw invalidFields([
      { field: 'name', message: 'must have 1 to 63 letters, digits, dots, hyphens and underscores' },
    ]);
  const settings = checkSettings(input.settings);
  return transaction(pool, async (tx) => {
    const row = await db.insertConnection(tx, { name: input.name, kind: 'smpp', sandbox: input.sandbox, settings });
    if (!row) throw new AppError('conflict', { message: `A connection named ${input.name} exists` });
    await db.moveConnectionSettings(tx, { id: row.id, settings, secret: seal(key, input.password, placeOf(row.id)) });
    await notifyRoutes(tx);
    return row;
  });
}

/** Changes settings and password of a connection that exists; running workers reconnect. */
export async function updateConnection(
  pool: Pool,
  key: SecretKey,
  id: number,
  input: Pick<NewConnection, 'settings' | 'password'>,
): Promise<void> {
  const settings = checkSettings(input.settings);
  await transaction(pool, async (tx) => {
    await db.moveConnectionSettings(tx, { id, settings, secret: seal(key, input.password, placeOf(id)) });
    await notifyRoutes(tx);
  });
}

function checkSettings(settings: unknown): object {
  try {
    return parseSmppSettings(settings);
  } catch (cause) {
    throw new AppError('invalid', { message: cause instanceof Error ? cause.message : String(cause), cause });
  }
}
