import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Run } from './proof.ts';
import type { Stage } from './stage.ts';

/**
 * Counts files of exports that neither an export nor the deletion list knows. A file that was not finished has `.part`
 * behind its key, and is deleted together with it.
 */
export async function countOrphanFiles({ folder }: Pick<Run, 'folder'>, { pool }: Stage): Promise<number> {
  const store = join(folder, 'data', 'files');
  const found = await readdir(join(store, 'exports'), { recursive: true, withFileTypes: true }).catch(() => []);
  const files = found.filter((entry) => entry.isFile());
  const keys = files.map((file) =>
    join(file.parentPath, file.name)
      .slice(store.length + 1)
      .replace(/\.part$/, ''),
  );
  const { rows } = await pool.query<{ key: string }>(
    'SELECT file_key AS key FROM export WHERE file_key IS NOT NULL UNION SELECT key FROM job',
  );
  const known = new Set(rows.map(({ key }) => key));
  return keys.filter((key) => !known.has(key)).length;
}
