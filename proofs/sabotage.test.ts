import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import { PROOFS } from './proofs.ts';

const FOLDER = join(import.meta.dirname, 'sabotage');
const CHECK = fileURLToPath(new URL('./lib/check-sabotage.ts', import.meta.url));
/** Modules that the sabotages share. */
const SHARED = ['owner.ts', 'replace.ts'];

const names = readdirSync(FOLDER).filter((name) => !SHARED.includes(name));
const pathOf = (name: string): string => join(FOLDER, name);
let faults: Record<string, string | null> = {};

beforeAll(async () => {
  const args = [CHECK, ...names.map(pathOf)];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  faults = JSON.parse(stdout);
});

test.each(names)('the sabotage %s fits the program', (name) => {
  expect(faults[pathOf(name)]).toBeNull();
});

test('every sabotage belongs to one proof', () => {
  const used = Object.values(PROOFS).map(({ sabotage }) => basename(sabotage.file.pathname));
  expect(used.toSorted()).toEqual(names.toSorted());
});
