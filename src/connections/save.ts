import type { Pool } from 'pg';
import { transaction } from '../db/transaction.ts';
import { AppError, invalidFields } from '../errors.ts';
import { open, seal, type SecretKey } from '../lib/secret-box.ts';
import { notifyRoutes } from '../routing/sql.ts';
import { kindOf } from './kinds/kinds.ts';
import * as db from './sql.ts';

const placeOf = (id: number): string => `connection.secret/${id}`;

/** The secret of a connection as its kind reads it. Throws when it was sealed with another SECRET_KEY. */
export const secretOf = (connection: db.Connection, key: SecretKey): string =>
  open(key, connection.secret, placeOf(connection.id)).toString();

/** What is kept of a connection besides its name; defaults are filled in. */
export type Links = {
  /** As its kind wants them: `SmppSettings`, `WhatsappSettings`, `RcsSettings`. */
  readonly settings: unknown;
  /** SMPP: the password. Else an object, as the kind wants it. */
  readonly secret: unknown;
};

export type NewConnection = Links & {
  readonly name: string;
  /** `smpp` unless said otherwise. */
  readonly kind?: db.ConnectionKind;
  readonly sandbox: boolean;
};

/** As the table checks it. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$/;

/**
 * Adds a connection; running workers connect at once. Errors: 400 naming the setting at fault, or for a name that is not
 * 1 to 63 letters, digits, dots, hyphens and underscores; 409 when it is taken.
 */
export async function createConnection(pool: Pool, key: SecretKey, input: NewConnection): Promise<{ id: number }> {
  const { name, kind = 'smpp', sandbox } = input;
  if (!NAME.test(name))
    throw invalidFields([
      { field: 'name', message: 'must have 1 to 63 letters, digits, dots, hyphens and underscores' },
    ]);
  const { settings, secret } = checkLinks(kind, input);
  return transaction(pool, async (tx) => {
    const row = await db.insertConnection(tx, { name, kind, sandbox, settings });
    if (!row) throw new AppError('conflict', { message: `A connection named ${name} exists` });
    await db.moveConnectionSettings(tx, { id: row.id, settings, secret: seal(key, secret, placeOf(row.id)) });
    await notifyRoutes(tx);
    return row;
  });
}

/** Changes settings and secret of a connection that exists; running workers reconnect. */
export async function updateConnection(
  pool: Pool,
  key: SecretKey,
  { id, kind }: Pick<db.Connection, 'id' | 'kind'>,
  input: Links,
): Promise<void> {
  const { settings, secret } = checkLinks(kind, input);
  await transaction(pool, async (tx) => {
    await db.moveConnectionSettings(tx, { id, settings, secret: seal(key, secret, placeOf(id)) });
    await notifyRoutes(tx);
  });
}

function checkLinks(kind: db.ConnectionKind, input: Links): { settings: object; secret: string } {
  const { parseSettings, parseSecret } = kindOf({ kind });
  try {
    return { settings: parseSettings(input.settings), secret: parseSecret(input.secret) };
  } catch (cause) {
    throw new AppError('invalid', { message: cause instanceof Error ? cause.message : String(cause), cause });
  }
}
