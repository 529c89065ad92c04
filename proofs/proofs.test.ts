import { execFile } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { createRandom } from '../src/simulators/smsc/random.ts';
import { createTestDatabase } from '../test/support/database.ts';
import { temporaryFolder } from '../test/support/temporary-folder.ts';
import type { Findings, Proof, Run } from './lib/proof.ts';
import { PROOFS } from './proofs.ts';

const SEED = 11;
const TIMEOUT_MS = 180_000;
const start = promisify(execFile);

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
  test(`${name}, in small: ${proof.promise}`, { timeout: TIMEOUT_MS }, async () => {
    const { figures, broken } = await proveTiny(proof);
    expect(broken, JSON.stringify(figures)).toEqual([]);
  });
}

test.each(Object.entries(PROOFS))('the sabotage of %s still fits the program', async (_, { sabotage }) => {
  const { stderr } = await start(process.execPath, ['--import', sabotage.file.href, '--eval', '']);
  expect(stderr).toBe('');
});
