import { randomBytes } from 'node:crypto';
import type { Pool } from 'pg';
import { createPool } from '../../src/core/db/pool.ts';
import { silentLog } from '../../src/core/log.ts';
import { databaseUrl, runOn } from './cluster.ts';
import type { TestDatabase } from './database.ts';

export type RestrictedDatabase = AsyncDisposable &
  TestDatabase & {
    readonly user: string;
    /** Runs statements as the administrator of the server. */
    asAdmin(statements: string): Promise<void>;
    /** Gives the user what docs/how-to/postgresql.md tells an administrator to run, with a schema of this name. */
    grantAll(schema: string): Promise<void>;
    /** Opens a pool whose sessions have the settings of the user as they are now. */
    open(): Pool;
  };

/**
 * Creates an empty database as the administrator of a managed service hands it over: its user is neither a superuser nor
 * may create roles, schemas or extensions.
 */
export async function createRestrictedDatabase(clusterUrl: string): Promise<RestrictedDatabase> {
  const user = `restricted_${randomBytes(4).toString('hex')}`;
  const adminUrl = databaseUrl(clusterUrl, user);
  await runOn(clusterUrl, `CREATE DATABASE ${user} TEMPLATE template0`);
  await runOn(clusterUrl, `CREATE ROLE ${user} LOGIN PASSWORD 'plain'`);
  const url = new URL(adminUrl);
  Object.assign(url, { username: user, password: 'plain' });
  const open = (): Pool => createPool(url.href, { max: 10, applicationName: 'test', log: silentLog });
  const asAdmin = (statements: string): Promise<void> => runOn(adminUrl, statements);
  const pool = open();
  return {
    user,
    pool,
    connectionString: url.href,
    open,
    asAdmin,
    grantAll: (schema) =>
      asAdmin(`
        CREATE SCHEMA ${schema} AUTHORIZATION ${user};
        ALTER ROLE ${user} SET search_path = ${schema};
        GRANT heliograph_tenant TO ${user} WITH INHERIT FALSE, SET TRUE;
        CREATE SCHEMA extensions;
        CREATE EXTENSION pg_trgm SCHEMA extensions;
        GRANT USAGE ON SCHEMA extensions TO ${user};`),
    async [Symbol.asyncDispose]() {
      await pool.end();
      await runOn(clusterUrl, `DROP DATABASE ${user} WITH (FORCE)`);
      await runOn(clusterUrl, `DROP ROLE ${user}`);
    },
  };
}
