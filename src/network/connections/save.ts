import { notifyRoutingChange } from './sql.ts';
import type { Pool } from 'pg';
import { faultsIn } from '../../carriers/parse-settings.ts';
import type { Db } from '../../platform/db/query.ts';
import { transaction } from '../../platform/db/transaction.ts';
import { AppError, type FieldError } from '../../platform/errors.ts';
import { open, seal, type SecretKey } from '../../platform/lib/secret-box.ts';
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
 * Adds a connection; running workers connect at once. Call it in a transaction. Errors: 400 naming every setting at
 * fault, or for a name that is not 1 to 63 letters, digits, dots, hyphens and underscores; 409 when it is taken.
 */
export async function insertLinks(tx: Db, key: SecretKey, input: NewConnection): Promise<{ id: number }> {
  const { name, kind = 'smpp', sandbox } = input;
  const { settings, secret } = checkLinks(kind, input, NAME.test(name) ? [] : [BAD_NAME]);
  const row = await db.insertConnection(tx, { name, kind, sandbox, settings });
  if (!row) throw new AppError('conflict', { message: `A connection named ${name} exists` });
  await db.moveConnectionSettings(tx, { id: row.id, settings, secret: seal(key, secret, placeOf(row.id)) });
  await notifyRoutingChange(tx);
  return row;
}

const BAD_NAME: FieldError = {
  field: 'name',
  message: 'must have 1 to 63 letters, digits, dots, hyphens and underscores',
};

/** `insertLinks` in a transaction of its own: for what the program adds by itself. */
export const createConnection = (pool: Pool, key: SecretKey, input: NewConnection): Promise<{ id: number }> =>
  transaction(pool, (tx) => insertLinks(tx, key, input));

type Known = Pick<db.Connection, 'id' | 'kind'>;

/** Changes settings and secret of a connection that exists; running workers reconnect. Call it in a transaction. */
export async function moveLinks(tx: Db, key: SecretKey, { id, kind }: Known, input: Links): Promise<void> {
  const { settings, secret } = checkLinks(kind, input);
  await db.moveConnectionSettings(tx, { id, settings, secret: seal(key, secret, placeOf(id)) });
  await notifyRoutingChange(tx);
}

/** `moveLinks` in a transaction of its own. */
export const updateConnection = (pool: Pool, key: SecretKey, known: Known, input: Links): Promise<void> =>
  transaction(pool, (tx) => moveLinks(tx, key, known, input));

/**
 * Settings with their defaults, and the secret as it is sealed. Errors: 400 naming every field at fault, those of the
 * settings as `settings.host`, those of the secret as `secret.accessToken`.
 */
export function checkLinks(
  kind: db.ConnectionKind,
  input: Links,
  before: readonly FieldError[] = [],
): { settings: object; secret: string } {
  const { parseSettings, parseSecret } = kindOf({ kind });
  const settings = attempt('settings', () => parseSettings(input.settings));
  const secret = attempt('secret', () => parseSecret(input.secret));
  if (before.length === 0 && 'value' in settings && 'value' in secret)
    return { settings: settings.value, secret: secret.value };
  const faults = [settings, secret].flatMap((tried) => ('faults' in tried ? tried.faults : []));
  const message = [...before, ...faults].map((fault) => `${fault.field}: ${fault.message}`).join('; ');
  throw new AppError('invalid', { message, details: [...before, ...faults] });
}

type Attempt<T> = { readonly value: T } | { readonly faults: readonly FieldError[] };

function attempt<T>(part: 'settings' | 'secret', parse: () => T): Attempt<T> {
  try {
    return { value: parse() };
  } catch (error) {
    const place = (field: string): string => (field === 'settings' || field === part ? part : `${part}.${field}`);
    return { faults: faultsIn(error).map(({ field, message }) => ({ field: place(field), message })) };
  }
}
