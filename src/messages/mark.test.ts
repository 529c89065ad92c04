import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { readMark, writeMark } from './restore-guard.ts';

const MARK = { machine: 'a', generation: 7, database: '1/2' };
const STORED = { ...MARK, born: '1' };

async function folder(): Promise<string> {
  const dataDir = await temporaryFolder('heliograph-mark-');
  onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
  return dataDir;
}

test('a mark is read as it was written, and the folder need not exist before', async () => {
  const dataDir = join(await folder(), 'new');
  expect(await readMark(dataDir)).toBeNull();
  await writeMark(dataDir, MARK);
  expect(await readMark(dataDir)).toEqual({ ...MARK, copied: false });
});

test('the file keeps its 400 bytes, one sector at most, and ends with its line', async () => {
  const dataDir = await folder();
  for (const generation of [1000, 1]) await writeMark(dataDir, { ...MARK, generation });
  const path = join(dataDir, 'restore-guard.json');
  expect((await stat(path)).size).toBe(400);
  expect(await readFile(path, 'utf8')).toMatch(/^\{.*\} *\n$/);
  expect(await readMark(dataDir)).toMatchObject({ generation: 1 });
});

test.each([
  'null',
  '1',
  '[]',
  JSON.stringify({ ...STORED, machine: undefined }),
  JSON.stringify({ ...STORED, machine: 1 }),
  JSON.stringify({ ...STORED, generation: undefined }),
  JSON.stringify({ ...STORED, generation: '7' }),
  JSON.stringify({ ...STORED, database: undefined }),
  JSON.stringify({ ...STORED, database: null }),
  JSON.stringify({ ...STORED, born: undefined }),
  JSON.stringify({ ...STORED, born: 1 }),
  '',
])('%j is no mark', async (text) => {
  const dataDir = await folder();
  await writeFile(join(dataDir, 'restore-guard.json'), text);
  expect(await readMark(dataDir)).toBeNull();
});
