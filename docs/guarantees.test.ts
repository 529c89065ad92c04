import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { PROOFS } from '../proofs/proofs.ts';

const PAGE = await readFile(join(import.meta.dirname, 'guarantees.md'), 'utf8');

test('every guarantee names a proof or a test, and each that is named exists', () => {
  const rows = [...PAGE.matchAll(/^\| (.+) \| (.+) \| (.+) \|$/gm)];
  const last = rows.findIndex(([, first]) => first === 'If');
  const proofs = rows.slice(0, last).filter(([, first]) => first !== 'Guarantee' && !/^-+$/.test(first ?? ''));
  expect(proofs.length).toBeGreaterThan(20);
  for (const [, guarantee = '', , cell = ''] of proofs) {
    const names = [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
    expect(names, guarantee).not.toEqual([]);
    for (const name of names)
      expect(name in PROOFS || existsSync(join(import.meta.dirname, '..', name)), `${guarantee}: ${name}`).toBe(true);
  }
});
