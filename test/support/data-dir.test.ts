import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { removeDataDir, removeOrphans } from './data-dir.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** The prefix of folders that only this file makes. */
const PREFIX = `heliograph-test-${process.pid}-orphan-`;

let systemDir: string;
let dataDir: string;
beforeEach(async () => {
  systemDir = await temporaryFolder(`heliograph-test-${process.pid}-`);
  dataDir = await temporaryFolder(PREFIX);
});
afterEach(() => Promise.all([systemDir, dataDir].map((dir) => rm(dir, { recursive: true, force: true }))));

/** Creates the files of a cluster outside of its DATA_DIR. */
async function newCluster(name: string, { owner = dataDir, pid }: { owner?: string | null; pid?: number } = {}) {
  const cluster = join(systemDir, name);
  await mkdir(join(cluster, 'base'), { recursive: true });
  if (owner !== null) await writeFile(join(cluster, 'DATA_DIR'), owner);
  if (pid !== undefined) await writeFile(join(cluster, 'postmaster.pid'), `${pid}\n${cluster}\n`);
  return cluster;
}

async function deadPid(): Promise<number> {
  const child = spawn(process.execPath, ['--version'], { stdio: 'ignore' });
  await new Promise((resolve) => child.once('exit', resolve));
  return child.pid ?? 0;
}

test('removes a DATA_DIR with its cluster behind a link, and no other cluster', async () => {
  const [cluster, other] = [await newCluster('own'), await newCluster('other')];
  await symlink(cluster, join(dataDir, 'postgres'));
  await removeDataDir(dataDir, systemDir);
  expect([dataDir, cluster, other].map((path) => existsSync(path))).toEqual([false, false, true]);
});

test('removes a link to another folder, but not the folder', async () => {
  const elsewhere = await temporaryFolder(PREFIX);
  await symlink(elsewhere, join(dataDir, 'postgres'));
  await removeDataDir(dataDir, systemDir);
  expect([dataDir, elsewhere].map((path) => existsSync(path))).toEqual([false, true]);
  await rm(elsewhere, { recursive: true });
});

test('accepts a DATA_DIR without a cluster, or one that is gone', async () => {
  await removeDataDir(dataDir, systemDir);
  await removeDataDir(dataDir, systemDir);
  expect(existsSync(dataDir)).toBe(false);
});

test('removes an orphan: a cluster whose DATA_DIR was a temporary folder of this kind and is gone', async () => {
  const plain = await newCluster('plain');
  const below = await newCluster('below', { owner: join(dataDir, 'data') });
  const crashed = await newCluster('crashed', { pid: await deadPid() });
  await rm(dataDir, { recursive: true });
  await removeOrphans(PREFIX, systemDir);
  expect([plain, below, crashed].map((path) => existsSync(path))).toEqual([false, false, false]);
});

test('keeps a cluster that is in use, of another kind, without an owner, or whose DATA_DIR exists', async () => {
  const gone = `${dataDir}-gone`;
  const kept = [
    await newCluster('there'),
    await newCluster('in-use', { owner: gone, pid: process.pid }),
    await newCluster('another-kind', { owner: gone.replace(PREFIX, 'heliograph-other-') }),
    await newCluster('not-temporary', { owner: join('/srv', PREFIX) }),
    await newCluster('nobodys', { owner: null }),
  ];
  const orphan = await newCluster('orphan', { owner: gone });
  await writeFile(join(systemDir, 'file'), '');
  await removeOrphans(PREFIX, systemDir);
  expect(kept.filter((path) => !existsSync(path))).toEqual([]);
  expect(existsSync(orphan)).toBe(false);
});

test('does nothing without a folder of clusters', async () => {
  await expect(removeOrphans(PREFIX, join(systemDir, 'none'))).resolves.toBeUndefined();
});
