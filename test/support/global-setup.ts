import { readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { isAlive, stopServer } from '../../src/platform/db/embedded/process.ts';
import { startEmbedded } from '../../src/platform/db/embedded/embedded.ts';
import { MIGRATIONS_DIR, migrate } from '../../src/platform/db/migrate.ts';
import { ensurePartitions } from '../../src/platform/db/partitions.ts';
import { createPool } from '../../src/platform/db/pool.ts';
import { silentLog } from '../../src/platform/lib/log.ts';
import { databaseUrl, runOn, TEMPLATE } from './cluster.ts';
import { removeDataDir, removeOrphans } from './data-dir.ts';
import { temporaryFolder } from './temporary-folder.ts';

const PREFIX = 'heliograph-test-';

/**
 * Starts one PostgreSQL for the whole run, without durability, with a migrated database that each test file copies.
 * Removes what a killed run has left behind.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  await removeAbandoned();
  await removeOrphans(PREFIX);
  const dataDir = await temporaryFolder(`${PREFIX}${process.pid}-`);
  const server = await startEmbedded({ dataDir, log: silentLog, durable: false });
  await createTemplate(server.connectionString);
  project.provide('clusterUrl', server.connectionString);
  return async () => {
    await server.stop();
    await removeDataDir(dataDir);
  };
}

/** Removes the folders of runs whose process is gone, and stops their servers. */
async function removeAbandoned(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    const pid = Number(new RegExp(`^${PREFIX}(\\d+)-`).exec(name)?.[1]);
    if (Number.isNaN(pid) || isAlive(pid)) continue;
    const dataDir = join(tmpdir(), name);
    await stopServer(join(dataDir, 'postgres')).catch(() => {});
    await rm(dataDir, { recursive: true, force: true, maxRetries: 10 }).catch(() => {});
  }
}

async function createTemplate(clusterUrl: string): Promise<void> {
  await runOn(clusterUrl, `CREATE DATABASE ${TEMPLATE}`);
  const pool = createPool(databaseUrl(clusterUrl, TEMPLATE), { max: 2, applicationName: 'migrate', log: silentLog });
  await migrate(pool, { dir: MIGRATIONS_DIR, log: silentLog });
  await ensurePartitions(pool, new Date());
  await pool.end();
}
