import { randomBytes } from 'node:crypto';
import type { Pool } from 'pg';
import { afterAll, beforeAll, inject } from 'vitest';
import { createPool } from '../../src/core/db/pool.ts';
import { silentLog } from '../../src/core/log.ts';
import { databaseUrl, runOn, TEMPLATE } from './cluster.ts';

export type TestDatabase = { readonly pool: Pool; readonly connectionString: string };

type Options = {
  /** True for a database without tables. */
  readonly empty?: boolean;
  /** The URL of its cluster; that of this run by default. */
  readonly clusterUrl?: string;
};

/**
 * Gives the test file its own database, with every migration applied and no other rows, from its first test to its
 * last (`empty`: without any tables). To be called at the top of the file or of a `describe`, before its own hooks, which
 * may then use the database:
 *
 *     const { pool } = testDatabase();
 */
export function testDatabase(options: Options = {}): TestDatabase {
  const database = nameDatabase(options);
  beforeAll(() => database.create());
  afterAll(() => database.drop());
  return database;
}

/**
 * Creates a database with every migration applied and no other rows (`empty`: without any tables), for tests that need
 * a separate one. Disposing of it ends the pool, closes all other connections, and
 * drops the database:
 *
 *     await using database = await createTestDatabase();
 */
export async function createTestDatabase(options: Options = {}): Promise<AsyncDisposable & TestDatabase> {
  const { pool, connectionString, create, drop } = nameDatabase(options);
  await create();
  return { pool, connectionString, [Symbol.asyncDispose]: drop };
}

/** A database that does not exist yet, with a pool that connects at its first query. */
function nameDatabase({ empty = false, clusterUrl = inject('clusterUrl') }: Options): TestDatabase & {
  create(): Promise<void>;
  drop(): Promise<void>;
} {
  const name = `test_${randomBytes(8).toString('hex')}`;
  const connectionString = databaseUrl(clusterUrl, name);
  const pool = createPool(connectionString, { max: 10, applicationName: 'test', log: silentLog });
  return {
    pool,
    connectionString,
    create: () =>
      runOn(clusterUrl, `CREATE DATABASE ${name} TEMPLATE ${empty ? 'template0' : TEMPLATE} STRATEGY file_copy`),
    async drop() {
      await pool.end();
      await runOn(clusterUrl, `DROP DATABASE ${name} WITH (FORCE)`);
    },
  };
}
