import type { Pool } from 'pg';
import type { Finding } from './finding.ts';
import { findArchiving } from './sql.ts';

/** Checks that the server archives its WAL if it is meant to: WAL that cannot be archived fills its disk. */
export async function checkArchive(pool: Pool, walArchive: string | undefined): Promise<Finding> {
  const name = 'archive';
  const { enabled, segment, at, failing } = await findArchiving(pool);
  if (!enabled)
    return {
      name,
      ok: walArchive === undefined,
      detail: 'the WAL is not archived',
      advice: 'Restart the program: PostgreSQL was started before WAL_ARCHIVE was set.',
    };
  if (failing !== null)
    return {
      name,
      ok: false,
      detail: `${failing} cannot be archived`,
      advice:
        'See the log of PostgreSQL (DATA_DIR/postgres.log): a full disk, the rights of the folder, or another server that ' +
        'archives into it. Until then WAL fills the disk of the database.',
    };
  return { name, ok: true, detail: segment === null ? 'nothing yet' : `${segment} at ${at?.toISOString()}` };
}
