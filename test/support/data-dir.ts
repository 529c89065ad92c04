import { lstat, readdir, readFile, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, sep } from 'node:path';
import { clusterPath, findServer, isAlive, OWNER_FILE, stopServer } from '../../src/core/db/embedded-process.ts';
import { SYSTEM_DIR } from '../../src/core/db/embedded-settings.ts';
import { readIfExists } from '../../src/core/db/startup-error.ts';
import { until } from './until.ts';

/** The last checkpoint of a large database takes time. */
const STOP_MS = 60_000;
const REMOVE = { recursive: true, force: true, maxRetries: 10 } as const;

/**
 * Removes a DATA_DIR and its cluster, which may be elsewhere: in `systemDir`, behind a link. A server that still runs
 * on it is stopped first.
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
 * Removes the clusters in `systemDir` that a killed run left behind: those whose DATA_DIR was a temporary folder with a
 * name that begins with `prefix`, and is gone. Keeps clusters whose DATA_DIR exists, that are in use, or that do not
 * name their DATA_DIR.
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

/** A path that cannot be read counts as existing. */
const exists = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => error.code !== 'ENOENT',
  );

/** Returns true if the pid file names a living process, of any kind. */
async function isInUse(cluster: string): Promise<boolean> {
  const pid = Number.parseInt((await readIfExists(join(cluster, 'postmaster.pid'))) ?? '', 10);
  return !Number.isNaN(pid) && isAlive(pid);
}
