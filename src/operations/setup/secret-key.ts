import { randomBytes } from 'node:crypto';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { hasCode } from '../../platform/db/private-file.ts';
import type { Settings } from './env-file.ts';
import type { Wanted } from './step.ts';

/**
 * Makes the key that encrypts passwords and tokens, unless there is one: in the settings, or in the folder of the data, where
 * an earlier start has put it. A key is never replaced, because what it has sealed would be lost: rejects when this user may not
 * see whether there is one.
 */
export async function setUpSecretKey(known: Partial<Settings>): Promise<Wanted> {
  const step = 'secret key';
  const given = known['SECRET_KEY'];
  if (given) return { step, settings: { SECRET_KEY: given }, detail: 'kept' };
  const path = join(known['DATA_DIR'] ?? '', 'secret.key');
  const isThere = await access(path).then(
    () => true,
    (error: unknown) => {
      if (hasCode(error, 'ENOENT')) return false;
      throw error;
    },
  );
  if (isThere) return { step, settings: {}, detail: `kept in ${path}` };
  const settings = { SECRET_KEY: randomBytes(32).toString('hex') };
  return { step, settings, detail: 'made' };
}
