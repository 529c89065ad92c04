import { type FileHandle, readdir, readFile } from 'node:fs/promises';
import sharp from 'sharp';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { openTemporaryFile } from '../core/storage.ts';
import { inspectFile } from './decoder.ts';

const [A, B] = [1, 2];
const NO_CLAIM = { fileName: '', contentType: 'application/octet-stream' };

let folder: string;
let large: FileHandle;
let small: FileHandle;
beforeAll(async () => {
  folder = await temporaryFolder('heliograph-inspect-');
  large = await pictureOf(2500);
  small = await pictureOf(1);
});
afterAll(() => Promise.all([large.close(), small.close()]));

async function pictureOf(side: number): Promise<FileHandle> {
  const file = await openTemporaryFile(folder);
  const create = { width: side, height: side, channels: 3, background: 'teal' } as const;
  await file.write(await sharp({ create }).png().toBuffer());
  return file;
}

async function countDecoders(): Promise<number> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const read = (path: string): Promise<string> => readFile(path, 'utf8').catch(() => '');
  const found = await Promise.all(
    pids.map(async (pid) => {
      const [status, command] = await Promise.all([read(`/proc/${pid}/status`), read(`/proc/${pid}/cmdline`)]);
      return status.includes(`\nPPid:\t${process.pid}\n`) && command.includes('decoder-process.ts');
    }),
  );
  return found.filter(Boolean).length;
}

test('large pictures of one account keep neither the picture of another one waiting nor its own small ones', async () => {
  const began: string[] = [];
  async function inspect(name: string, accountId: number, file: FileHandle): Promise<void> {
    const stats = await file.stat();
    const noted = {
      stat: () => Promise.resolve(stats),
      read: (...args: Parameters<FileHandle['read']>) => {
        began.push(name);
        return file.read(...args);
      },
    };
    await inspectFile(noted as Pick<FileHandle, 'stat' | 'read'>, NO_CLAIM, accountId);
  }
  await Promise.all([
    inspect('large of A', A, large),
    inspect('large of A', A, large),
    inspect('large of A', A, large),
    inspect('small of A', A, small),
    inspect('small of B', B, small),
  ]);
  expect(began.slice(0, 3)).toContain('small of A');
  expect(began.slice(0, 2)).toContain('small of B');
});

test('the pictures of many accounts are decoded by two processes at most', async () => {
  const most: number[] = [];
  const inspected = await Promise.all(
    Array.from({ length: 30 }, async (_, i) => {
      const { width } = await inspectFile(small, NO_CLAIM, i);
      most.push(await countDecoders());
      return width;
    }),
  );
  expect(inspected).toEqual(Array.from({ length: 30 }, () => 1));
  expect(Math.max(...most)).toBeLessThanOrEqual(2);
});
