import { chmod, mkdir } from 'node:fs/promises';
import { hasCode } from './private-file.ts';
import { StartupError } from './startup-error.ts';

/**
 * Creates DATA_DIR when it is missing. Its files are for their owner only; when root makes it, the folder itself can be
 * entered by others, since PostgreSQL runs as another user in it.
 */
export async function createDataDir(dataDir: string): Promise<void> {
  const root = process.getuid?.() === 0;
  const mode = root ? 0o711 : 0o700;
  const created = await mkdir(dataDir, { recursive: true, mode }).catch((error: unknown) => {
    if (!hasCode(error, 'EEXIST') && !hasCode(error, 'ENOTDIR')) throw error;
    throw new StartupError(`DATA_DIR ${dataDir} is not a folder: set it to one.`);
  });
  if (created !== undefined && root) await chmod(dataDir, mode);
}
