import { readFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { makeMp4 } from '../../test/support/files/mp4.ts';
import { until } from '../../test/support/until.ts';
import { inspectInProcess } from './decoder.ts';

const PICTURE = Buffer.from('GIF89a\x01\0\x01\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;', 'latin1');
const decode = () => inspectInProcess(PICTURE, { fileName: 'a.gif', contentType: 'image/gif' });

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
  return isOurs && (command.includes('decoder-process.ts') || status.includes('\nState:\tZ'));
}

/**
 * Stops a process and returns when the kernel has stopped it: the signal alone leaves it time for one more picture. One
 * that had just ended is gone.
 */
function stop(pid: number): void {
  try {
    process.kill(pid, 'SIGSTOP');
  } catch {
    return;
  }
  const deadline = Date.now() + 20_000;
  while (!/\nState:\t[TZ]/.test(readFileSync(`/proc/${pid}/status`, 'utf8'))) {
    if (Date.now() > deadline) throw new Error(`process ${pid} did not stop`);
  }
}

test('a picture is decoded in a process without our settings', async () => {
  const { width, height, reencoded, thumbnail } = await decode();
  expect([width, height, reencoded?.subarray(0, 6).toString(), thumbnail?.[0]]).toEqual([1, 1, 'GIF89a', 0xff]);
  const [pid] = await decoders();
  expect(await readFile(`/proc/${pid}/environ`, 'utf8')).not.toMatch(/HOME|PATH|VITEST/);
});

test('a process is replaced after a while, to free the memory that decoders leave behind', async () => {
  await decode();
  const before = await decoders();
  for (let n = 0; n < 20; n++) expect((await decode()).width).toBe(1);
  const after = await decoders();
  expect(before.some((pid) => after.includes(pid))).toBe(false);
});

test('a video is checked in the process too, and its refusal names the field', async () => {
  const claim = { fileName: 'a.mp4', contentType: 'video/mp4' };
  expect(await inspectInProcess(makeMp4(), claim)).toMatchObject({
    mimeType: 'video/mp4',
    reencoded: null,
    width: 320,
  });
  const cut = Buffer.concat([makeMp4(), Buffer.from('more')]);
  await expect(inspectInProcess(cut, claim)).rejects.toMatchObject({ status: 400, details: [{ field: 'file' }] });
});

test('a picture whose process dies is rejected, and the next one is decoded', async () => {
  await decode();
  const waiting = await decoders();
  // From here to the kill nothing waits: an idle process would end, and the next picture would start another.
  await decode();
  for (const pid of waiting) stop(pid);
  const decoding = decode();
  for (const pid of (await decoders()).filter((each) => waiting.includes(each))) process.kill(pid, 'SIGKILL');
  await expect(decoding).rejects.toMatchObject({ status: 400 });
  await until('both gone', async () => (await decoders()).length === 0);
  expect((await decode()).width).toBe(1);
});
