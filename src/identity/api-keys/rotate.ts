import { recordAudit } from '../audit/record.ts';
import type { Db } from '../../platform/db/query.ts';
import { AppError } from '../../platform/errors.ts';
import { grantableScopes, type Grantor, type IssuedKey, issueValue } from './create.ts';
import { deleteEndedValues, findKeyForUpdate, moveValueToGrace } from './sql.ts';

/**
 * Gives a key a new value; the previous one keeps working for `graceSeconds`. Id, scopes and expiry stay the same, so
 * that deleting the key later revokes both values. Call it in a transaction. Errors: 404 for an unknown or foreign id;
 * 409 for an expired key; 403 when the key has a scope that the actor lacks, since the actor would gain it.
 */
export async function rotateKey(
  tx: Db,
  actor: Grantor,
  input: { id: number; graceSeconds: number },
): Promise<IssuedKey> {
  const key = await findKeyForUpdate(tx, { accountId: actor.accountId, id: input.id });
  if (!key) throw new AppError('not_found');
  if (key.expired) throw new AppError('conflict', { message: 'The key has expired: create a new one' });
  const operations = grantableScopes(actor, key.operations);
  const which = { accountId: actor.accountId, keyId: key.id };
  await moveValueToGrace(tx, { ...which, graceSeconds: input.graceSeconds });
  await deleteEndedValues(tx, which);
  const apiKey = await issueValue(tx, which);
  const { id, name, description, createdAt, expiresAt } = key;
  const detail = { graceSeconds: input.graceSeconds };
  await recordAudit(tx, actor, { action: 'api-key.rotate', subject: `api-key:${id}`, detail });
  return { id, name, description, apiKey, operations, createdAt, expiresAt };
}
