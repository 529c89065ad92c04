import { open, seal, type SecretKey } from '../../platform/lib/secret-box.ts';
import type { Endpoint } from './sql.ts';

/** Of the account, which has one endpoint: its id is given only when the row is written. */
const placeOf = (accountId: number): string => `webhook_endpoint.secret/${accountId}`;

/** A signing secret as it is stored. */
export const sealSecret = (key: SecretKey, accountId: number, secret: string): Buffer =>
  seal(key, secret, placeOf(accountId));

type Sealed = Pick<Endpoint, 'accountId' | 'secret' | 'previousSecret' | 'previousSecretUntil'>;

/**
 * The secrets that sign at this moment, the current one first: two while a rotation overlaps. Throws when they were
 * sealed with another SECRET_KEY.
 */
export function openSecrets(key: SecretKey, endpoint: Sealed, now: Date): string[] {
  const { accountId, secret, previousSecret, previousSecretUntil } = endpoint;
  const overlaps = previousSecret !== null && previousSecretUntil !== null && previousSecretUntil > now;
  return [secret, ...(overlaps ? [previousSecret] : [])].map((sealed) =>
    open(key, sealed, placeOf(accountId)).toString(),
  );
}
