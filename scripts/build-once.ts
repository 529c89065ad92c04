// Builds something when its sources have changed since the last build, one build at a time: `npm start` and tests may
// begin together.
import { createHash } from 'node:crypto';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

const LOCK_POLL_MS = 200;

type Build = {
  /** The file that holds the hash of the sources of the last build. */
  readonly stamp: string;
  /** The file that exists during a build. */
  readonly lock: string;
  /** The files that the result depends on. */
  readonly sources: () => Promise<readonly string[]>;
  /** Resolves with false when nothing can be built here; what was built before stays. */
  readonly build: () => Promise<boolean>;
};

/** Builds unless the last build had the same sources. A lock whose process has ended does not count. */
export async function buildOnce(what: Build): Promise<void> {
  if (await isUpToDate(what)) return;
  await withLock(what.lock, async () => {
    if (await isUpToDate(what)) return;
    const hash = await hashOf(await what.sources());
    if (!(await what.build())) return;
    await mkdir(dirname(what.stamp), { recursive: true });
    await writeFile(what.stamp, hash);
  });
}

const isUpToDate = async ({ stamp, sources }: Build): Promise<boolean> =>
  (await readFile(stamp, 'utf8').catch(() => '')) === (await hashOf(await sources()));

async function hashOf(files: readonly string[]): Promise<string> {
  const hash = createHash('sha256');
  for (const file of files.toSorted()) hash.update(file).update(await readFile(file));
  return hash.digest('hex');
}

/** Does the work while no other process holds the file `lock`. The lock of a process that has ended does not count. */
export async function withLock<T>(lock: string, work: () => Promise<T>): Promise<T> {
  while (!(await takeLock(lock))) await new Promise((resolve) => setTimeout(resolve, LOCK_POLL_MS));
  try {
    return await work();
  } finally {
    await rm(lock, { force: true });
  }
}

async function takeLock(lock: string): Promise<boolean> {
  const isTaken = await writeFile(lock, String(process.pid), { flag: 'wx' }).then(
    () => true,
    () => false,
  );
  if (isTaken) return true;
  const owner = Number(await readFile(lock, 'utf8').catch(() => ''));
  if (owner > 0 && !isAlive(owner)) await rm(lock, { force: true });
  return false;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
