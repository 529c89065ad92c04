import { readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { isAlive, stopServer } from '../../src/core/db/embedded-process.ts';
import { removeOrphans } from './data-dir.ts';
import { requestedVersion } from './other-versions.ts';
import { startTestCluster } from './test-cluster.ts';

const PREFIX = 'heliograph-test-';

/**
 * Starts one PostgreSQL for the whole run, of the version in TEST_POSTGRES if it is set, with a migrated database that
 * each test file copies. Removes what a killed run has left behind.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  await removeAbandoned();
  await removeOrphans(PREFIX);
  const cluster = await startTestCluster(`${PREFIX}${process.pid}-`, requestedVersion());
  project.provide('clusterUrl', cluster.url);
  return async () => cluster[Symbol.asyncDispose]();
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
