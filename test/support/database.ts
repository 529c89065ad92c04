import { randomBytes } from 'node:crypto';
import type { Pool } from 'pg';
import { inject } from 'vitest';
import { createPool } from '../../src/platform/db/pool.ts';
import { silentLog } from '../../src/platform/lib/log.ts';
import { databaseUrl, runOn, TEMPLATE } from './cluster.ts';

export type TestDatabase = AsyncDisposable & { readonly pool: Pool; readonly connectionString: string };

/**
 * Creates a database with every migration applied and no other rows, and a pool on it. Disposing of it ends the pool,
 * closes all other connections, and drops the database:
 *
 *     const database = await createTestDatabase();
 *     afterAll(() => database[Symbol.asyncDispose]());
 */
export async function createTestDatabase(options: { empty?: boolean } = {}): Promise<TestDatabase> {
  const clusterUrl = inject('clusterUrl');
  const name = `test_${randomBytes(8).toString('hex')}`;
  await runOn(
    clusterUrl,
    `CREATE DATABASE ${name} TEMPLATE ${options.empty ? 'template0' : TEMPLATE} STRATEGY file_copy`,
  );
  const connectionString = databaseUrl(clusterUrl, name);
  const pool = createPool(connectionString, { max: 10, applicationName: 'test', log: silentLog });
  const dispose = async (): Promise<void> => {
    await pool.end();
    await runOn(clusterUrl, `DROP DATABASE ${name} WITH (FORCE)`);
  };
  return { pool, connectionString, [Symbol.asyncDispose]: dispose };
}
