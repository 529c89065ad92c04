import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { createRandom } from '../src/sandbox/smsc-script.ts';
import type { Client } from '../test/support/client.ts';
import { removeDataDir } from '../test/support/data-dir.ts';
import { runOperatorCommand } from '../test/support/operator.ts';
import { temporaryFolder } from '../test/support/temporary-folder.ts';
import { until } from '../test/support/until.ts';
import { openStage } from './lib/stage.ts';

// The codes are provided, so that they are known, and have letters, so that no number is mistaken for one.

/** Codes that are searched for: `CODES=10000` for the figure of the promise. */
const COUNT = Number(process.env['CODES'] ?? 500);
const MARK = 'Z7Q';
const codes = Array.from({ length: COUNT }, (_, n) => `${MARK}${n.toString(36).toUpperCase().padStart(7, '0')}`);
const known = new Set(codes);
const CODE_LENGTH = 10;
const PARALLEL = 8;
const MINUTES = 60_000;
const PG = '/api/partner-gateway/v1';
/** The carrier's own record of what it took, which has the codes. */
const LEDGER = 'ledger.ndjson';

async function ask<T>(client: Client, method: string, path: string, body?: object): Promise<T> {
  const response = await client.request(method, `${PG}${path}`, body === undefined ? {} : { body });
  if (response.status >= 300) throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(response.body)}`);
  return response.body as T;
}

/** Counts the files of a folder, those with the text of the messages, and the codes in them. */
async function search(folder: string, skip: (name: string) => boolean) {
  const found = { files: 0, withText: 0, codes: 0 };
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || skip(entry.name)) continue;
    const octets = await readFile(join(entry.parentPath, entry.name)).catch(() => Buffer.alloc(0));
    const content = octets.subarray(0, 2).toString('hex') === '1f8b' ? gunzipSync(octets) : octets;
    found.files++;
    if (content.includes('is your Acme code')) found.withText++;
    for (let at = content.indexOf(MARK); at !== -1; at = content.indexOf(MARK, at + 1))
      if (known.has(content.subarray(at, at + CODE_LENGTH).toString('latin1'))) found.codes++;
  }
  return found;
}

test('no code that a carrier took is in exports, logs, a backup or the database', {
  timeout: 30 * MINUTES,
}, async () => {
  await using opened = new AsyncDisposableStack();
  const folder = await temporaryFolder('heliograph-codes-');
  opened.defer(() => rm(folder, { recursive: true, force: true }));
  opened.defer(() => removeDataDir(join(folder, 'data')));
  const run = { mode: 'tiny', seed: 1, random: createRandom(1), sabotage: null, attack: null } as const;
  const options = { gateway: 'serve', environment: { LOG_LEVEL: 'trace' } } as const;
  const stage = opened.use(await openStage({ ...run, folder, databaseUrl: null, log: () => undefined }, options));
  const { client, carrier, pool } = stage;

  const service = { name: 'Codes', brand: 'Acme', codeMode: 'provided', guard: { mode: 'off' } };
  const { id: serviceId } = await ask<{ id: string }>(client, 'POST', '/verify/services', service);
  const numberOf = (n: number): string => `+39333${1_000_000 + n}`;
  const each = async (work: (n: number) => Promise<unknown>): Promise<void> => {
    let next = 0;
    const one = async (): Promise<void> => {
      for (let n = next++; n < COUNT; n = next++) await work(n);
    };
    await Promise.all(Array.from({ length: PARALLEL }, one));
  };
  await each((n) => ask(client, 'POST', '/verifications', { serviceId, to: numberOf(n), code: codes[n] }));
  await until('all submits', async () => (await carrier.counts()).submits >= COUNT, 5 * MINUTES);
  const taken = (await carrier.ledger()).submits.filter(({ text }) => text?.includes(MARK));
  // One that was throttled is submitted again.
  expect(new Set(taken.map(({ text }) => text)).size).toBe(COUNT);
  await each(async (n) => {
    const code = n % 2 === 0 ? codes[n] : 'wrong';
    // Some are over by then: the carrier did not deliver them.
    await client.request('POST', `${PG}/verifications/check`, { body: { serviceId, to: numberOf(n), code } });
  });

  const span = {
    startDateTime: new Date(Date.now() - 60 * MINUTES).toISOString(),
    endDateTime: new Date().toISOString(),
  };
  for (const format of ['csv', 'csv.gz']) await ask(client, 'POST', '/messages/history/export', { ...span, format });
  await ask(client, 'POST', '/privacy/exports', { to: numberOf(1) });
  await until('the exports', async () => {
    const { rows } = await pool.query("SELECT count(*)::int AS ready FROM export WHERE status = 'COMPLETED'");
    return rows[0].ready === 3;
  });
  const backup = join(folder, 'backup');
  await runOperatorCommand(stage, 'backup', 'create', '--to', backup);
  await pool.query('CHECKPOINT');

  const exported = await search(join(folder, 'data', 'files'), () => false);
  const backedUp = await search(backup, () => false);
  const all = await search(folder, (name) => name === LEDGER);
  const logs = (await readFile(join(folder, 'stderr.log'))).length;
  console.log(JSON.stringify({ count: COUNT, exported, backedUp, all, logBytes: logs }));
  // The texts around the codes are there, so the search would find them.
  expect([exported.withText > 0, backedUp.withText > 0, all.withText > 3, logs > 0]).toEqual([true, true, true, true]);
  expect([exported.codes, backedUp.codes, all.codes]).toEqual([0, 0, 0]);
  expect((await search(folder, (name) => name !== LEDGER)).codes).toBeGreaterThanOrEqual(COUNT);
});
