import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Config } from './config.ts';
import { createDataDir } from './db/data-dir.ts';
import { readOrCreate } from './db/private-file.ts';
import { explainDatabaseError, StartupError } from './db/startup-error.ts';
import { createSecretKey, type SecretKey } from './lib/secret-box.ts';

/**
 * Loads the key that encrypts passwords and tokens: SECRET_KEY, or the key in DATA_DIR/secret.key (mode 0600), which
 * the first start creates. Throws a StartupError if the file is damaged or cannot be read.
 */
export async function loadSecretKey(config: Pick<Config, 'secretKey' | 'dataDir'>): Promise<SecretKey> {
  if (config.secretKey !== undefined) return createSecretKey(config.secretKey);
  const path = join(config.dataDir, 'secret.key');
  const text = await readKeyFile(config.dataDir, path);
  const bytes = Buffer.from(text.trim(), 'base64url');
  if (bytes.length !== 32) throw new StartupError(`${path} is damaged: restore it from a backup, or set SECRET_KEY.`);
  return createSecretKey(bytes);
}

async function readKeyFile(dataDir: string, path: string): Promise<string> {
  try {
    await createDataDir(dataDir);
    return await readOrCreate(path, () => `${randomBytes(32).toString('base64url')}\n`);
  } catch (error) {
    throw explainDatabaseError(error);
  }
}
