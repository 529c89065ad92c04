import { fileURLToPath } from 'node:url';
import type { Pool } from 'pg';
import { migrate } from '../../platform/db/migrate.ts';
import { createPool } from '../../platform/db/pool.ts';
import { waitForPrimary } from '../../platform/db/servers.ts';
import type { Log } from '../../platform/lib/log.ts';

const DIRECTORY_MIGRATIONS = fileURLToPath(new URL('../../../db/directory', import.meta.url));

/**
 * Opens the database of the directory, one of its own, and applies its pending migrations (db/directory). The caller ends
 * the pool.
 */
export async function openDirectory(connectionString: string, log: Log): Promise<Pool> {
  await waitForPrimary(connectionString);
  const pool = createPool(connectionString, { max: 4, applicationName: 'heliograph directory', log });
  try {
    await migrate(pool, { dir: DIRECTORY_MIGRATIONS, log, hasTenants: false });
    return pool;
  } catch (error) {
    await pool.end();
    throw error;
  }
}
