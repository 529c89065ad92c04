import { lstat, readdir, readFile, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, sep } from 'node:path';
import { SYSTEM_DIR } from '../../src/platform/db/embedded-binaries.ts';
import { clusterPath, OWNER_FILE } from '../../src/platform/db/embedded-cluster.ts';
import { findServer, isAlive, stopServer } from '../../src/platform/db/embedded-process.ts';
import { readIfExists } from '../../src/platform/db/private-file.ts';
import { until } from './until.ts';

/** The last checkpoint of a large database takes its time. */
const STOP_MS = 60_000;
const REMOVE = { recursive: true, force: true, maxRetries: 10 } as const;

/**
 * Removes a DATA_DIR and its cluster, which may be elsewhere: in `systemDir`, behind a link. A server that still runs on
 * it is stopped before.
 */
export async function removeDataDir(dataDir: string, systemDir = SYSTEM_DIR): Promise<void> {
  const cluster = await realpath(clusterPath(dataDir)).catch(() => null);
  if (cluster !== null) {
    await stopServer(cluster);
    await until(`the end of the server on ${cluster}`, async () => (await findServer(cluster)) === undefined, STOP_MS);
    if (cluster.startsWith(systemDir + sep)) await rm(cluster, REMOVE);
  }
  await rm(dataDir, REMOVE);
}

/**
 * Removes the clusters in `systemDir` whose DATA_DIR was a temporary folder, its name beginning with `prefix`, that is
 * gone: what a killed run leaves behind once somebody has cleared the temporary folders. Others are not touched: those
 * whose DATA_DIR is there, those in use, and those that do not say whose they are.
 */
export async function removeOrphans(prefix: string, systemDir = SYSTEM_DIR): Promise<void> {
  const temporary = join(await realpath(tmpdir()), prefix);
  for (const name of await readdir(systemDir).catch(() => [])) {
    const cluster = join(systemDir, name);
    const dataDir = await readFile(join(cluster, OWNER_FILE), 'utf8').catch(() => '');
    if (!dataDir.startsWith(temporary) || (await exists(dataDir)) || (await isInUse(cluster))) continue;
    await rm(cluster, REMOVE).catch(() => undefined);
  }
}

/** Whatever cannot be looked at counts as being there. */
const exists = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => error.code !== 'ENOENT',
  );

/** Whether the pid file names a living process, whichever that is. */
async function isInUse(cluster: string): Promise<boolean> {
  const pid = Number.parseInt((await readIfExists(join(cluster, 'postmaster.pid'))) ?? '', 10);
  return !Number.isNaN(pid) && isAlive(pid);
}
