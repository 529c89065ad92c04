import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { openVerifyStage } from '../../test/support/verify.ts';
import { exec, many, one, raw, sql } from '../core/db/query.ts';

const { pool } = testDatabase();
/** Codes that are searched for: `CODES=10000` for the figure of the promise. */
const COUNT = Number(process.env['CODES'] ?? 1000);
/** The beginning of all codes, so that one search of a file finds any of them. */
const MARK = 'Z7Q';
const PARALLEL = 8;

const codes = Array.from({ length: COUNT }, (_, n) => `${MARK}${n.toString(36).toUpperCase().padStart(7, '0')}`);

async function* filesIn(folder: string): AsyncGenerator<string> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* filesIn(path);
    else if (entry.isFile()) yield path;
  }
}

const MINUTES = 60_000;

test('no code that was submitted is in a table, in a file of the database or in its write-ahead log', {
  timeout: 30 * MINUTES,
}, async () => {
  const stage = await openVerifyStage(pool, { creditMicros: 1e15 });
  const service = await stage.service({ codeMode: 'provided', autofill: { web: 'example.com' } });
  await exec(
    pool,
    sql`INSERT INTO webhook_endpoint (account_id, url, form, secret, kinds)
                       VALUES (${stage.accountId}, 'https://example.com', 'V2', '', '{verification.created,verification.approved,verification.expired}')`,
  );
  const ids: string[] = [];
  for (let at = 0; at < COUNT; at += PARALLEL)
    await Promise.all(
      codes.slice(at, at + PARALLEL).map(async (code, i) => {
        const { verification } = await stage.start(service, { to: `+39333${String(1_000_000 + at + i)}`, code });
        ids[at + i] = verification.id;
      }),
    );
  let submitted = 0;
  for (let jobs = await stage.submitted(); jobs.length > 0; jobs = await stage.submitted())
    submitted += jobs.filter(({ body }) => body.includes(MARK)).length;
  expect(submitted).toBe(COUNT);
  for (let n = 0; n < COUNT; n += 2) await stage.check({ id: ids[n] ?? '', code: codes[n] ?? '' });
  stage.pass(15 * 60);
  await stage.work();

  const tables = await many<{ name: string }>(
    pool,
    sql`SELECT oid::regclass::text AS name FROM pg_class
    WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace`,
  );
  const inTables: string[] = [];
  for (const { name } of tables) {
    const { found } = await one<{ found: boolean }>(
      pool,
      sql`SELECT EXISTS (SELECT FROM ${raw(name)} AS t WHERE t::text LIKE ${`%${MARK}%`}) AS found`,
    );
    if (found) inTables.push(name);
  }
  expect(inTables).toEqual([]);

  await exec(pool, sql`CHECKPOINT`);
  const { folder } = await one<{ folder: string }>(pool, sql`SELECT current_setting('data_directory') AS folder`);
  const inFiles: string[] = [];
  let files = 0;
  let isSearchable = false;
  for await (const path of filesIn(folder)) {
    const octets = await readFile(path).catch(() => Buffer.alloc(0));
    files++;
    isSearchable ||= octets.includes('is your Acme code');
    for (let at = octets.indexOf(MARK); at !== -1; at = octets.indexOf(MARK, at + 1))
      if (codes.includes(octets.subarray(at, at + 10).toString('latin1'))) inFiles.push(path);
  }
  // The texts are there, so the search would find the codes.
  expect([files > 100, isSearchable]).toEqual([true, true]);
  expect(inFiles).toEqual([]);
});
