import { chmod, chown, mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findServerUser, mayEnter } from './embedded-settings.ts';

const otherUser = { uid: 54_321, gid: 54_321 };
let root: string;
beforeAll(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'enter-')));
  await chmod(root, 0o711);
  await mkdir(join(root, 'open'), { mode: 0o711 });
  await mkdir(join(root, 'closed/inside'), { recursive: true });
  await chmod(join(root, 'closed'), 0o766);
});
afterAll(() => rm(root, { recursive: true }));

test('a folder may be entered when it and every one above it have the x bit', async () => {
  expect(await mayEnter(join(root, 'open'), otherUser)).toBe(true);
});

test('one folder without the x bit closes everything below it, whatever its other bits', async () => {
  expect(await mayEnter(join(root, 'closed'), otherUser)).toBe(false);
  expect(await mayEnter(join(root, 'closed/inside'), otherUser)).toBe(false);
});

test('the owner needs the bit of the owner', async () => {
  const owner = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  expect(await mayEnter(join(root, 'closed/inside'), owner)).toBe(true);
});

const isRoot = process.getuid?.() === 0;

test.runIf(isRoot)('the group counts before the others', async () => {
  await mkdir(join(root, 'group'), { mode: 0o701 });
  await chown(join(root, 'group'), 0, otherUser.gid);
  await chmod(join(root, 'group'), 0o701);
  expect(await mayEnter(join(root, 'group'), otherUser)).toBe(false);
  await chmod(join(root, 'group'), 0o710);
  expect(await mayEnter(join(root, 'group'), otherUser)).toBe(true);
});

test.runIf(isRoot)('root runs the server as the owner of the cluster, else as an unprivileged user', async () => {
  await mkdir(join(root, 'cluster'));
  expect((await findServerUser(join(root, 'cluster')))?.uid).toBeGreaterThan(0);
  await chown(join(root, 'cluster'), otherUser.uid, otherUser.gid);
  expect(await findServerUser(join(root, 'cluster'))).toEqual(otherUser);
});

test.skipIf(isRoot)('users other than root run the server as themselves', async () => {
  expect(await findServerUser(root)).toBeUndefined();
});
