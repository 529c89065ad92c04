import { rm } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeMessyContacts } from '../../test/support/files/messy-contacts.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { DEFAULT_NUMBER_RULES } from '../core/phone.ts';
import { openTemporaryFile } from '../core/storage.ts';
import { NO_CLEANING } from './import-cleaning.ts';
import { readFile } from './import-reader.ts';

let folder: string;
beforeAll(async () => {
  folder = await temporaryFolder('heliograph-cleaning-');
});
afterAll(() => rm(folder, { recursive: true }));

/** The heap of the thread that reads a file: half a million numbers take 30 MB of it. */
const HEAP = { maxOldGenerationSizeMb: 96, maxYoungGenerationSizeMb: 16, stackSizeMb: 4 };
const CLEANING = { ...NO_CLEANING, drop: ['email'], extract: true, plus: true };

/** Reads and cleans a messy file; returns its rows and the time taken. */
async function clean(count: number) {
  const { bytes, rows, people } = makeMessyContacts(count, 7);
  await using source = await openTemporaryFile(folder);
  await using chunks = await openTemporaryFile(folder);
  await source.write(bytes);
  const options = {
    removeHead: null,
    mapping: {},
    fields: [],
    rules: { ...DEFAULT_NUMBER_RULES, defaultCountry: 'IT' },
    previewRows: 0,
    cleaning: CLEANING,
  };
  const shares: number[] = [];
  const began = performance.now();
  const made = await readFile(
    1,
    { source: source.fd, chunks: chunks.fd, kind: 'table', fileName: 'a.csv', options },
    { heap: HEAP, onProgress: (share) => shares.push(share) },
  );
  const seconds = (performance.now() - began) / 1000;
  const lost = made.cleaning.groups.reduce((sum, group) => sum + group.rows, 0);
  return { made, rows, people, lost, seconds, shares };
}

test('500,000 messy rows are cleaned in the memory of one thread, and in time that grows with their number', async () => {
  const small = await clean(125_000);
  const large = await clean(500_000);
  expect(large.made.total).toBe(large.rows);
  expect(large.rows - large.lost).toBe(large.people);
  expect(large.seconds / small.seconds, `${small.seconds} s and ${large.seconds} s`).toBeLessThan(8);
  expect(large.shares.length).toBeGreaterThan(2);
  expect(large.shares).toEqual(large.shares.toSorted((a, b) => a - b));
  expect(large.made.cleaning.changes.every(({ samples }) => samples.length <= 5)).toBe(true);
});
