import { type Author, recordAudit } from '../audit/record.ts';
import type { Db } from '../../platform/db/query.ts';
import { AppError, invalidFields } from '../../platform/errors.ts';
import type { Actor } from '../../platform/lib/actor.ts';
import type { Plan } from '../../platform/lib/plan.ts';
import { type Scope, SCOPES } from '../../platform/lib/scope.ts';
import { generateKeyValue } from './key.ts';
import { countKeys, insertKey, insertKeyValue, lockKeysOfAccount } from './sql.ts';

/** The creator of a key: an actor, or an operator command with all scopes. */
export type Grantor = Author & Pick<Actor, 'operations'>;

export type NewKeyInput = {
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  /** All scopes of the grantor by default. */
  readonly operations?: readonly Scope[] | undefined;
  readonly expiresAt?: Date | undefined;
};

/** A key with its value, which cannot be shown again. */
export type IssuedKey = {
  readonly id: number;
  readonly name: string;
  readonly description: string;
  readonly apiKey: string;
  readonly operations: readonly string[];
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
};

/** Maximum number of keys of an account. Expired keys count: they are rows, too. */
const MAX_KEYS: Readonly<Record<Plan, number>> = { trial: 10, production: 100, unlimited: 1000 };

/**
 * Creates a key of the grantor's account. Call it in a transaction: the key and its value are two rows.
 * Errors: 403 when it would have a scope that the grantor lacks, 400 when `expiresAt` is not in the future, 409 when the
 * account has as many keys as its plan allows.
 */
export async function createKey(tx: Db, actor: Grantor, input: NewKeyInput): Promise<IssuedKey> {
  const { name = '', description = '', expiresAt = null } = input;
  const operations = grantableScopes(actor, input.operations ?? [...actor.operations]);
  if (expiresAt && expiresAt.getTime() <= Date.now())
    throw invalidFields([{ field: 'expiresAt', message: 'must be in the future' }]);
  const { accountId, userId } = actor;
  const max = MAX_KEYS[await lockKeysOfAccount(tx, { accountId })];
  const count = await countKeys(tx, { accountId, userId: null });
  if (count >= max)
    throw new AppError('conflict', {
      message: `The account has ${count} API keys and its plan allows ${max}: delete some first; expired keys count, too`,
    });
  const { id, createdAt } = await insertKey(tx, { accountId, userId, name, description, operations, expiresAt });
  const apiKey = await issueValue(tx, { accountId, keyId: id });
  const detail = { name, operations, expiresAt };
  await recordAudit(tx, actor, { action: 'api-key.create', subject: `api-key:${id}`, detail });
  return { id, name, description, apiKey, operations, createdAt, expiresAt };
}

/** Gives a key a new current value and returns it. The value is not stored and cannot be shown again. */
export async function issueValue(tx: Db, key: { accountId: number; keyId: number }): Promise<string> {
  const { value, hash, prefix } = generateKeyValue();
  await insertKeyValue(tx, { ...key, hash, prefix });
  return value;
}

/** Returns the scopes in the order of `SCOPES`. Throws 403 if the grantor lacks one of them. */
export function grantableScopes(actor: Grantor, operations: readonly string[]): Scope[] {
  const lacking = operations.filter(
    (wanted) => !SCOPES.some((scope) => scope === wanted && actor.operations.has(scope)),
  );
  if (lacking.length > 0)
    throw new AppError('forbidden', { message: `These credentials themselves lack the scopes ${lacking.join(', ')}` });
  return SCOPES.filter((scope) => operations.includes(scope));
}
