import { chmod, mkdir } from 'node:fs/promises';
import { hasCode } from './private-file.ts';
import { StartupError } from './startup-error.ts';

/**
 * Creates DATA_DIR if it is missing. Only its owner may read its files; if root creates it, other users may enter the
 * folder, since PostgreSQL runs in it as another user. Throws a StartupError if the path is not a folder.
 */
export async function createDataDir(dataDir: string): Promise<void> {
  const root = process.getuid?.() === 0;
  const mode = root ? 0o711 : 0o700;
  const created = await mkdir(dataDir, { recursive: true, mode }).catch((error: unknown) => {
    if (!hasCode(error, 'EEXIST') && !hasCode(error, 'ENOTDIR')) throw error;
    throw new StartupError(`DATA_DIR ${dataDir} is not a folder: set DATA_DIR to a folder.`);
  });
  if (created !== undefined && root) await chmod(dataDir, mode);
}
