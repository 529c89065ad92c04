import { type Author, recordAudit } from '../audit/record.ts';
import type { Db } from '../../platform/db/query.ts';
import { AppError, invalidFields } from '../../platform/errors.ts';
import type { Actor } from '../../platform/http/actor.ts';
import { type Scope, SCOPES } from '../../platform/lib/scope.ts';
import { generateKeyValue } from './key.ts';
import { insertKey, insertKeyValue } from './sql.ts';

/** Who may make a key, as far as it matters here: an actor is one; the operator's commands make their own. */
export type Grantor = Author & Pick<Actor, 'operations'>;

export type NewKeyInput = {
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  /** Default: all that the grantor has. */
  readonly operations?: readonly Scope[] | undefined;
  readonly expiresAt?: Date | undefined;
};

/** A key with its value, which is shown this once. */
export type IssuedKey = {
  readonly id: number;
  readonly name: string;
  readonly description: string;
  readonly apiKey: string;
  readonly operations: readonly string[];
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
};

/**
 * Makes a key of the grantor's account. Call it in a transaction: the key and its value are two rows.
 * Errors: 403 when it would have a scope that the grantor lacks, 400 when it would have expired already.
 */
export async function createKey(tx: Db, actor: Grantor, input: NewKeyInput): Promise<IssuedKey> {
  const { name = '', description = '', expiresAt = null } = input;
  const operations = grantableScopes(actor, input.operations ?? [...actor.operations]);
  if (expiresAt && expiresAt.getTime() <= Date.now())
    throw invalidFields([{ field: 'expiresAt', message: 'must lie in the future' }]);
  const { accountId, userId } = actor;
  const { id, createdAt } = await insertKey(tx, { accountId, userId, name, description, operations, expiresAt });
  const apiKey = await issueValue(tx, { accountId, keyId: id });
  const detail = { name, operations, expiresAt };
  await recordAudit(tx, actor, { action: 'api-key.create', subject: `api-key:${id}`, detail });
  return { id, name, description, apiKey, operations, createdAt, expiresAt };
}

/** Gives the key a fresh current value and returns it; it is not stored and cannot be shown again. */
export async function issueValue(tx: Db, key: { accountId: number; keyId: number }): Promise<string> {
  const { value, hash, prefix } = generateKeyValue();
  await insertKeyValue(tx, { ...key, hash, prefix });
  return value;
}

/** The scopes in the order of the contract, or 403: nobody gives what they do not have. */
export function grantableScopes(actor: Grantor, operations: readonly string[]): Scope[] {
  const lacking = operations.filter(
    (wanted) => !SCOPES.some((scope) => scope === wanted && actor.operations.has(scope)),
  );
  if (lacking.length > 0)
    throw new AppError('forbidden', { message: `These credentials lack the scopes ${lacking.join(', ')} themselves` });
  return SCOPES.filter((scope) => operations.includes(scope));
}
