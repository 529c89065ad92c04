import { readdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { basename } from 'node:path';
import { expect, test } from 'vitest';
import { createRandom } from '../src/simulators/smsc/random.ts';
import { createTestDatabase } from '../test/support/database.ts';
import { temporaryFolder } from '../test/support/temporary-folder.ts';
import type { Findings, Proof, Run } from './lib/proof.ts';
import { PROOFS } from './proofs.ts';

const SEED = 11;
const TIMEOUT_MS = 180_000;

/** Runs a proof at its smallest size, on a test database. */
async function proveTiny({ prove }: Proof): Promise<Findings> {
  await using database = await createTestDatabase();
  const folder = await temporaryFolder('heliograph-proof-');
  const log = (): void => undefined;
  const { connectionString: databaseUrl } = database;
  const run: Run = {
    mode: 'tiny',
    seed: SEED,
    random: createRandom(SEED),
    sabotage: null,
    folder,
    databaseUrl,
    log,
  };
  const findings = await prove(run);
  await rm(folder, { recursive: true });
  return findings;
}

for (const name of [
  'crash',
  'crash --campaign',
  'receipts',
  'throttle',
  'smpp',
  'money',
  'delete-race',
  'fallback',
  'fallback-sends',
  'revoke',
  'guess',
  'allowlist',
  'fields',
  'malformed',
  'canary',
  'tenants',
  'tenants --rls-only',
  'webhooks',
  'callbacks',
  'ssrf',
  'uploads',
  'links',
  'oauth',
  'csv',
  'exports',
  'console',
]) {
  const proof = PROOFS[name] as Proof;
  test(`${name}, at its smallest size: ${proof.promise}`, { timeout: TIMEOUT_MS }, async () => {
    const { figures, broken } = await proveTiny(proof);
    expect(broken, JSON.stringify(figures)).toEqual([]);
  });
}

test('every sabotage belongs to one proof', () => {
  const used = Object.values(PROOFS).map(({ sabotage }) => basename(sabotage.file.pathname));
  const shared = ['owner.ts', 'replace.ts'];
  expect([...used, ...shared].toSorted()).toEqual(readdirSync(new URL('./sabotage/', import.meta.url)).toSorted());
});
