import { startEmbedded } from '../../src/core/db/embedded.ts';
import { MIGRATIONS_DIR, migrate } from '../../src/core/db/migrate.ts';
import { ensurePartitions } from '../../src/core/db/partitions.ts';
import { createPool } from '../../src/core/db/pool.ts';
import { silentLog } from '../../src/core/log.ts';
import { databaseUrl, runOn, TEMPLATE } from './cluster.ts';
import { removeDataDir } from './data-dir.ts';
import { binariesOf, type OtherVersion } from './other-versions.ts';
import { temporaryFolder } from './temporary-folder.ts';

/**
 * Starts a PostgreSQL for tests, without durability, with a migrated database that each test database is copied from.
 * `prefix` begins the name of its folder; without a version, it is the program's own.
 */
export async function startTestCluster(
  prefix: string,
  version?: OtherVersion,
): Promise<AsyncDisposable & { readonly url: string }> {
  const dataDir = await temporaryFolder(prefix);
  const server = await startEmbedded({
    dataDir,
    log: silentLog,
    durable: false,
    binariesFrom: version && binariesOf(version),
  });
  await createTemplate(server.connectionString);
  return {
    url: server.connectionString,
    async [Symbol.asyncDispose]() {
      await server.stop();
      await removeDataDir(dataDir);
    },
  };
}

async function createTemplate(clusterUrl: string): Promise<void> {
  await runOn(clusterUrl, `CREATE DATABASE ${TEMPLATE}`);
  const pool = createPool(databaseUrl(clusterUrl, TEMPLATE), { max: 2, applicationName: 'migrate', log: silentLog });
  await migrate(pool, { dir: MIGRATIONS_DIR, log: silentLog });
  await ensurePartitions(pool, new Date());
  await pool.end();
}
