import { readdir, readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { until } from '../../../test/support/until.ts';
import { decodePicture } from './decode.ts';

const PICTURE = Buffer.from('GIF89a\x01\0\x01\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;', 'latin1');
const decode = () => decodePicture({ octets: PICTURE, type: 'image/gif' });

/** The processes that decode for this one; those that were killed too, until their end was noticed. */
async function decoders(): Promise<number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(pids.map(async (pid) => ((await isDecoder(pid)) ? [Number(pid)] : [])));
  return found.flat();
}
async function isDecoder(pid: string): Promise<boolean> {
  const read = (name: string): Promise<string> => readFile(`/proc/${pid}/${name}`, 'utf8').catch(() => '');
  const [status, command] = await Promise.all([read('status'), read('cmdline')]);
  const isOurs = status.includes(`\nPPid:\t${process.pid}\n`);
  return isOurs && (command.includes('decoder/process.ts') || status.includes('\nState:\tZ'));
}

test('a picture is decoded in a process without our settings', async () => {
  const { width, height, octets, thumbnail } = await decode();
  expect([width, height, octets.subarray(0, 6).toString(), thumbnail[0]]).toEqual([1, 1, 'GIF89a', 0xff]);
  const [pid] = await decoders();
  expect(await readFile(`/proc/${pid}/environ`, 'utf8')).not.toMatch(/HOME|PATH|VITEST/);
});

test('many pictures are decoded by two processes, which are replaced after a while', async () => {
  await decode();
  const before = await decoders();
  const pictures = await Promise.all(Array.from({ length: 45 }, decode));
  expect(pictures.every(({ width }) => width === 1)).toBe(true);
  const after = await decoders();
  expect(after.length).toBeLessThanOrEqual(2);
  expect(before.some((pid) => after.includes(pid))).toBe(false);
});

test('a picture whose process dies is rejected, and the next one is decoded', async () => {
  await decode();
  const waiting = await decoders();
  for (const pid of waiting) process.kill(pid, 'SIGSTOP');
  const decoding = decode();
  for (const pid of waiting) process.kill(pid, 'SIGKILL');
  await expect(decoding).rejects.toMatchObject({ status: 400 });
  await until('both gone', async () => (await decoders()).length === 0);
  expect((await decode()).width).toBe(1);
});
