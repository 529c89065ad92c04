import { chmod, mkdtemp, realpath } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Creates a folder for a test or a script and returns its real path. PostgreSQL's own user may enter it when root runs
 * the tests. The caller removes it.
 */
export async function temporaryFolder(prefix: string): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), prefix)));
  await chmod(folder, 0o711);
  return folder;
}
