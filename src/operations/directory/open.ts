import { fileURLToPath } from 'node:url';
import type { Pool } from 'pg';
import { migrate } from '../../platform/db/migrate.ts';
import { createPool } from '../../platform/db/pool.ts';
import { waitForPrimary } from '../../platform/db/servers.ts';
import { explainDatabaseError } from '../../platform/db/startup-error.ts';
import type { Log } from '../../platform/lib/log.ts';

const DIRECTORY_MIGRATIONS = fileURLToPath(new URL('../../../db/directory', import.meta.url));

/**
 * Opens the database of the directory, one of its own, and applies its pending migrations (db/directory). The caller ends
 * the pool. Throws a StartupError that names DIRECTORY_URL when a person has to correct something.
 */
export async function openDirectory(connectionString: string, log: Log): Promise<Pool> {
  const pool = createPool(connectionString, { max: 4, applicationName: 'heliograph directory', log });
  try {
    await waitForPrimary(connectionString);
    await migrate(pool, { dir: DIRECTORY_MIGRATIONS, log, hasTenants: false });
    return pool;
  } catch (error) {
    await pool.end();
    throw explainDatabaseError(error, 'DIRECTORY_URL');
  }
}
