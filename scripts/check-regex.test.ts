import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';

const folder = mkdtempSync(join(tmpdir(), 'heliograph-regex-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** What the check says about a file of this code. */
function check(code: string) {
  const file = join(folder, 'planted.ts');
  writeFileSync(file, code);
  return spawnSync(process.execPath, [join(import.meta.dirname, 'check-regex.ts'), file], { encoding: 'utf8' });
}

test('an expression that is not linear is named with its place and a text that attacks it', () => {
  const { status, stderr } = check("const a = 1;\nconst slow = /(a+)+$/;\nconst schema = { pattern: '^(b|b)*$' };\n");
  expect(status).toBe(1);
  expect(stderr).toMatch(/planted\.ts:2 \/\(a\+\)\+\$\/ is not linear \(exponential\): 'a'/);
  expect(stderr).toContain('planted.ts:3');
});

test('an expression made from constant texts is checked', () => {
  const { stderr } = check(
    'const DIGITS = String.raw`(\\d+)+$`;\nnew RegExp(DIGITS);\nnew RegExp(`^${DIGITS}x`);\n' +
      "new RegExp(DIGITS.replace('d', 'w'));\n",
  );
  expect(stderr).toContain('planted.ts:3 /^(\\d+)+$x/ is not linear');
  expect(stderr).toContain('planted.ts:4 /(\\w+)+$/ is not linear');
});

test('an expression made from other values needs a reason', () => {
  const { status, stderr } = check('const word = String(1);\nnew RegExp(`${word}x`);\n');
  expect(status).toBe(1);
  expect(stderr).toContain('planted.ts:2 is made from other values');
});

test('linear expressions pass', () => {
  expect(check('const fast = /^a+$/;\n')).toMatchObject({ status: 0, stderr: '' });
});
