import type { Pool } from 'pg';
import { faultsIn } from '../../carriers/parse-settings.ts';
import type { Db } from '../../platform/db/query.ts';
import { transaction } from '../../platform/db/transaction.ts';
import { AppError, type FieldError } from '../../platform/errors.ts';
import { open, seal, type SecretKey } from '../../platform/lib/secret-box.ts';
import { type ConnectionKind, kindOf } from './kinds/kinds.ts';
import type { SecretFields } from './kinds/secret.ts';
import * as db from './sql.ts';
import { notifyRoutingChange } from './sql.ts';

const placeOf = (id: number): string => `connection.secret/${id}`;

/**
 * Opens the secret of a connection, as the text that its kind reads. Throws when it was sealed with another SECRET_KEY.
 */
export const secretOf = (connection: db.Connection, key: SecretKey): string =>
  open(key, connection.secret, placeOf(connection.id)).toString();

/** Access of a connection to its carrier. The settings and fields depend on its kind; defaults may be omitted. */
export type Setup = {
  readonly settings: unknown;
  readonly secret: SecretFields;
};

export type NewConnection = Setup & {
  readonly name: string;
  readonly kind: ConnectionKind;
  /** True if it leads to the sandbox carrier of this program. */
  readonly sandbox: boolean;
};

/** The same pattern as in the CHECK constraint of the table. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$/;

/**
 * Adds a connection; running workers connect immediately. Call it in a transaction. Errors: 400 naming every invalid
 * setting, or for a name that is not 1 to 63 letters, digits, dots, hyphens and underscores; 409 when the name is
 * taken.
 */
export async function createConnectionIn(tx: Db, key: SecretKey, input: NewConnection): Promise<{ id: number }> {
  const { name, kind, sandbox } = input;
  const { settings, secret } = validateSetup(kind, input, NAME.test(name) ? [] : [BAD_NAME]);
  const row = await db.insertConnection(tx, { name, kind, sandbox, settings });
  if (!row) throw new AppError('conflict', { message: `A connection named ${name} exists` });
  await db.updateConnectionSettings(tx, { id: row.id, settings, secret: seal(key, secret, placeOf(row.id)) });
  await notifyRoutingChange(tx);
  return row;
}

const BAD_NAME: FieldError = {
  field: 'name',
  message: 'must have 1 to 63 letters, digits, dots, hyphens and underscores',
};

/** Runs `createConnectionIn` in a separate transaction. */
export const createConnection = (pool: Pool, key: SecretKey, input: NewConnection): Promise<{ id: number }> =>
  transaction(pool, (tx) => createConnectionIn(tx, key, input));

type Known = Pick<db.Connection, 'id' | 'kind'>;

/** Replaces settings and secret of a connection; running workers reconnect. Call it in a transaction. Errors: 400. */
export async function updateConnectionIn(tx: Db, key: SecretKey, { id, kind }: Known, input: Setup): Promise<void> {
  const { settings, secret } = validateSetup(kind, input);
  await db.updateConnectionSettings(tx, { id, settings, secret: seal(key, secret, placeOf(id)) });
  await notifyRoutingChange(tx);
}

/** Runs `updateConnectionIn` in a separate transaction. */
export const updateConnection = (pool: Pool, key: SecretKey, known: Known, input: Setup): Promise<void> =>
  transaction(pool, (tx) => updateConnectionIn(tx, key, known, input));

/**
 * Validates a setup. Returns the settings with their defaults, and the text of the secret that is sealed. Errors: 400
 * naming every invalid field, those of the settings as `settings.host`, those of the secret as `secret.accessToken`.
 */
export function validateSetup(
  kind: ConnectionKind,
  input: Setup,
  before: readonly FieldError[] = [],
): { settings: object; secret: string } {
  const { parseSettings, secret: form, checkSecret } = kindOf({ kind });
  const settings = attempt('settings', () => parseSettings(input.settings));
  const secret = attempt('secret', () => form.toText(input.secret));
  const together =
    'value' in settings && 'value' in secret
      ? attempt('secret', () => checkSecret?.(settings.value, secret.value))
      : { faults: [] };
  if (before.length === 0 && 'value' in settings && 'value' in secret && 'value' in together)
    return { settings: settings.value, secret: secret.value };
  const faults = [settings, secret, together].flatMap((part) => ('faults' in part ? part.faults : []));
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
