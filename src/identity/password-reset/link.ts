import type { Config } from '../../platform/config.ts';
import type { Db } from '../../platform/db/query.ts';
import { generateToken } from '../sessions/token.ts';
import { insertReset } from './sql.ts';

const VALID_SECONDS = 3600;

/**
 * Makes a link with which a user may choose a new password: once, within one hour. The token is in the fragment, which
 * browsers never send; only its hash is stored.
 */
export async function createResetLink(
  tx: Db,
  { publicUrl }: Pick<Config, 'publicUrl'>,
  { accountId, userId }: { readonly accountId: number; readonly userId: number },
): Promise<{ readonly link: string; readonly expiresAt: Date }> {
  const { token, hash } = generateToken();
  const { expiresAt } = await insertReset(tx, { hash, accountId, userId, validSeconds: VALID_SECONDS });
  return { link: `${publicUrl}/reset-password#${token}`, expiresAt };
}
