import { open, seal, type SecretKey } from '../../platform/lib/secret-box.ts';

const contextOf = (accountId: number): string => `single_sign_on.client_secret ${accountId}`;

/** Seals the client secret of an account for storage. */
export const sealClientSecret = (key: SecretKey, accountId: number, secret: string): Buffer =>
  seal(key, secret, contextOf(accountId));

/** Opens the stored client secret; null for a public client. */
export const clientSecretOf = (
  key: SecretKey,
  { accountId, clientSecret }: { readonly accountId: number; readonly clientSecret: Buffer | null },
): string | null => (clientSecret === null ? null : open(key, clientSecret, contextOf(accountId)).toString());
