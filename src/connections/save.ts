import type { Pool } from 'pg';
import { parseSmppSettings } from '../carriers/smpp/settings.ts';
import { transaction } from '../db/transaction.ts';
import { AppError } from '../errors.ts';
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

/**
 * Adds an SMPP connection; running workers connect at once. Errors: 400 naming the setting at fault, 409 when the name
 * is taken.
 */
export async function createConnection(pool: Pool, key: SecretKey, input: NewConnection): Promise<{ id: number }> {
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
