import { open, seal, type SecretKey } from '../../platform/lib/secret-box.ts';
import type { Endpoint } from './sql.ts';

/**
 * Returns the context to which a sealed secret is bound: the account, because the id of the endpoint is not known
 * before the insert.
 */
const placeOf = (accountId: number): string => `webhook_endpoint.secret/${accountId}`;

/** Seals a signing secret for the database. */
export const sealSecret = (key: SecretKey, accountId: number, secret: string): Buffer =>
  seal(key, secret, placeOf(accountId));

type Sealed = Pick<Endpoint, 'accountId' | 'secret' | 'previousSecret' | 'previousSecretUntil'>;

/**
 * Opens the secrets that sign at `now`, the current one first: two while a rotation overlaps. Throws when they were
 * sealed with another SECRET_KEY.
 */
export function openSecrets(key: SecretKey, endpoint: Sealed, now: Date): string[] {
  const { accountId, secret, previousSecret, previousSecretUntil } = endpoint;
  const overlaps = previousSecret !== null && previousSecretUntil !== null && previousSecretUntil > now;
  return [secret, ...(overlaps ? [previousSecret] : [])].map((sealed) =>
    open(key, sealed, placeOf(accountId)).toString(),
  );
}
