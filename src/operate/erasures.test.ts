import { rm } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { actor, draft, freeOver } from '../../test/support/drafts.ts';
import { openTestInbox, type TestInbox } from '../../test/support/http/inbox.ts';
import { serveRoutes } from '../../test/support/http/routes.ts';
import { runJobs } from '../../test/support/jobs.ts';
import type { App } from '../core/http/app.ts';
import { ensureCell } from '../core/db/migrate.ts';
import { exec, many, one, raw, sql } from '../core/db/query.ts';
import { createWaker } from '../dispatch/pump.ts';
import { type Accept, createAccept } from '../messages/accept.ts';
import { createPersonHash } from '../messages/erased.ts';
import { createLocalStorage, fileRemoval } from '../core/storage.ts';
import { silentLog } from '../core/log.ts';
import { exportJob } from '../exports/make.ts';
import { exportRoutes } from '../exports/routes.ts';
import { findExport } from '../exports/store.ts';
import { text } from 'node:stream/consumers';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { applyErasureRecords } from './erasure-records.ts';
import { eraseAgain, erasureRoutes, personErasure } from './erasures.ts';

const PG = '/api/partner-gateway/v1';
const ZOE = '+393331234567';
const OTHER = '+393331234568';
const EXPORTS = { dataDir: '', databaseUrlRead: undefined };
const TRACES = ['3331234567', 'Quillfeather', 'zanzibar', Buffer.from('zanzibar').toString('hex')];

let inbox: TestInbox;
let app: App;
let accept: Accept;
const folder = await temporaryFolder('heliograph-erasures-');
const storage = createLocalStorage(folder);
beforeAll(async () => {
  inbox = await openTestInbox();
  const { pool } = inbox.database;
  await ensureCell(pool, 0);
  app = serveRoutes([erasureRoutes, exportRoutes], inbox.deps);
  const tables = { ...freeOver(() => [1]), hashOfPerson: createPersonHash(inbox.deps.secretKey) };
  accept = createAccept({ pool, tables, waker: { ...createWaker(pool), wake: () => undefined }, recentMessages: null });
});
afterAll(async () => {
  await app.close();
  await inbox[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

async function call(on: App, method: 'GET' | 'POST' | 'PUT', path: string, body?: object) {
  const answer = await on.inject({
    method,
    url: `${PG}${path}`,
    headers: { 'x-api-key': inbox.account.apiKey, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { payload: JSON.stringify(body) }),
  });
  return { status: answer.statusCode, body: answer.json() };
}

const send = async (destination: string, accountId = inbox.account.accountId) => {
  const by = { ...actor(accountId), hasOptOuts: true };
  const verdict = await accept.one(by, draft({ destination, body: 'Hello from zanzibar' }));
  return verdict.kind === 'refused' ? verdict.refusal : verdict.kind;
};

/** Runs erasures to their end, without the wait between their steps. */
async function runErasures(): Promise<void> {
  const { pool } = inbox.database;
  const kind = personErasure.using({ pool, secretKey: inbox.deps.secretKey, storage });
  while ((await runJobs(pool, kind)) > 0)
    await exec(pool, sql`UPDATE job SET run_at = now() WHERE kind = 'person.erasure'`);
}

/** Erases a person, and returns the end of it. */
async function erase(body: object) {
  const { erasureId } = (await call(app, 'POST', '/privacy/erasures', body)).body;
  await runErasures();
  return (await call(app, 'GET', `/privacy/erasures/${erasureId}`)).body;
}

/** Counts the rows of each table of the database in which one of the texts occurs, in any column. */
async function search(texts: readonly string[]): Promise<Readonly<Record<string, number>>> {
  const { pool } = inbox.database;
  const tables = await many<{ name: string }>(
    pool,
    sql`SELECT relname AS name FROM pg_class
        WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition`,
  );
  const found: Record<string, number> = {};
  for (const { name } of tables) {
    const { rows } = await one<{ rows: number }>(
      pool,
      sql`SELECT count(*)::int AS rows FROM ${raw(`"${name}"`)} AS t
          WHERE EXISTS (SELECT FROM unnest(${[...texts]}::text[]) AS n WHERE position(n IN t::text) > 0)`,
    );
    if (rows > 0) found[name] = rows;
  }
  return found;
}

test('an erased person is in no table, is not written to again, and others are untouched', async () => {
  const { accountId } = inbox.account;
  const contact = { phoneNumber: ZOE, fullName: 'Zoe Quillfeather', email: 'zoe@quillfeather.example' };
  expect((await call(inbox.app, 'POST', '/contacts', contact)).status).toBe(201);
  const consent = { to: ZOE, channel: '*', purpose: 'marketing', state: 'OPTED_IN', proof: { text: 'zanzibar' } };
  await call(inbox.app, 'PUT', '/consents', { consents: [consent] });
  expect([await send(ZOE), await send(OTHER)]).toEqual(['accepted', 'accepted']);
  await inbox.write('Where is zanzibar?', { from: ZOE.slice(1) });
  await inbox.write("Don't text me from zanzibar", { from: ZOE.slice(1) });
  const before = await search(TRACES);
  expect(Object.keys(before)).toEqual(
    expect.arrayContaining(['contact', 'consent', 'consent_change', 'conversation', 'inbound_message', 'message']),
  );

  const { exportId } = (await call(app, 'POST', '/privacy/exports', { to: ZOE, format: 'csv' })).body;
  const { pool } = inbox.database;
  const exporting = { ...inbox.database, storage, config: { ...EXPORTS, dataDir: folder }, log: silentLog };
  await runJobs(pool, exportJob.using(exporting));
  const { fileKey, rows } = (await findExport(pool, { accountId, id: exportId })) ?? {};
  const copy = await text(await storage.get(fileKey ?? ''));
  for (const held of ['Quillfeather', 'Where is zanzibar?', 'Hello from zanzibar', 'OPTED_IN'])
    expect(copy).toContain(held);
  expect(copy).not.toContain(OTHER);
  expect(rows).toBeGreaterThan(8);

  const tried = await erase({ to: ZOE, dryRun: true });
  expect(tried).toMatchObject({
    state: 'DONE',
    dryRun: true,
    counts: { contact: 1, conversation: 1, inbound_message: 2 },
  });
  const { export: files, ...held } = await search(TRACES);
  expect([held, files]).toEqual([before, 1]);
  expect(await send(ZOE)).toBe('accepted');

  const erased = await erase({ to: '0039 333 123 4567' });
  expect(erased).toMatchObject({ state: 'DONE', dryRun: false, counts: { contact: 1, conversation: 1, message: 2 } });
  expect(await search(['3331234567', 'Quillfeather'])).toEqual({});
  await runJobs(pool, fileRemoval.using({ storage }));
  expect(await storage.exists(fileKey ?? '')).toBe(false);
  const { texts } = await one<{ texts: string[] }>(
    inbox.database.pool,
    sql`SELECT array_agg(destination || ' ' || body) AS texts FROM message
        WHERE account_id = ${accountId} AND position('zanzibar' IN body) > 0`,
  );
  expect(texts).toEqual([`${OTHER} Hello from zanzibar`]);
  expect([await send(ZOE), await send(OTHER)]).toEqual(['opted_out', 'accepted']);
  const { waiting } = await one<{ waiting: string[] }>(
    inbox.database.pool,
    sql`SELECT array_agg(m.destination) AS waiting FROM dispatch_chunk d, unnest(d.ids) AS i JOIN message m ON m.id = i
        WHERE NOT coalesce(i = ANY(d.withdrawn), false)`,
  );
  expect(new Set(waiting)).toEqual(new Set([OTHER]));
  expect((await erase({ to: ZOE })).counts).toEqual({});
});

test('a database that is restored to before an erasure erases the person again, and writes to them at no time', async () => {
  const { pool } = inbox.database;
  const YAN = '+393331234569';
  const come = async () => {
    const contact = { phoneNumber: YAN, fullName: 'Yan Bellweather', email: 'yan@bellweather.example' };
    expect((await call(inbox.app, 'POST', '/contacts', contact)).status).toBe(201);
    expect(await send(YAN)).toBe('accepted');
    await inbox.write('It is Yan', { from: YAN.slice(1) });
  };
  await come();
  const { erasureId } = await erase({ to: YAN });
  // What a backup from before the erasure restores.
  await exec(pool, sql`DELETE FROM erased_person`);
  await exec(pool, sql`DELETE FROM erasure`);
  await exec(pool, sql`UPDATE cell SET erasures = 0`);
  await come();
  expect(await applyErasureRecords({ pool, storage }, eraseAgain)).toBe(true);
  expect(await send(YAN)).toBe('opted_out');
  await runErasures();
  expect(await search(['3331234569', 'Bellweather'])).toEqual({});
  expect((await call(app, 'GET', `/privacy/erasures/${erasureId}`)).body).toMatchObject({
    state: 'DONE',
    counts: { contact: 1, conversation: 1, message: 1 },
  });
  expect(await applyErasureRecords({ pool, storage }, eraseAgain)).toBe(false);
});

test('an erasure neither deletes nor counts what may belong to another account', async () => {
  const { pool } = inbox.database;
  const receipt = JSON.stringify({ status: 'DELIVERED', text: 'to:3331234579' });
  await exec(
    pool,
    sql`INSERT INTO receipt_unmatched (connection_id, receipt, reason, received_at, next_try_at)
        VALUES (1, ${receipt}, 'unknown', now(), now() + interval '1 hour')`,
  );
  await exec(pool, sql`INSERT INTO portfolio_person (portfolio, person) VALUES ('p', person_of('+393331234579'))`);
  const before = await search(['3331234579']);
  expect(Object.keys(before).toSorted()).toEqual(['portfolio_person', 'receipt_unmatched']);
  // The text of a contact, which occurs in every receipt.
  await call(inbox.app, 'POST', '/contacts', { phoneNumber: '+393331234580', fullName: 'status' });
  await erase({ to: '+393331234580' });
  expect((await erase({ to: '+393331234579', dryRun: true })).counts).toEqual({});
  await erase({ to: '+393331234579' });
  expect(await search(['3331234579'])).toEqual(before);
});

test('an account queues a hundred erasures, and no more until some are done', async () => {
  const { pool } = inbox.database;
  const { accountId } = inbox.account;
  const queue = sql`INSERT INTO erasure (account_id, id, dry_run) SELECT ${accountId}, uuidv7(), true FROM generate_series(1, 100)`;
  await exec(pool, queue);
  expect((await call(app, 'POST', '/privacy/erasures', { to: ZOE, dryRun: true })).status).toBe(429);
  await exec(pool, sql`DELETE FROM erasure WHERE account_id = ${accountId} AND done_at IS NULL`);
  expect((await erase({ to: ZOE, dryRun: true })).state).toBe('DONE');
});

test.each([[{}], [{ to: ZOE, contactId: 1 }], [{ to: 'nobody' }]])('%j is rejected', async (body) => {
  expect((await call(app, 'POST', '/privacy/erasures', body)).status).toBe(400);
});
