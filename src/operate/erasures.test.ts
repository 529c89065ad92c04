import { rm } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { actor, draft, freeOver } from '../../test/support/drafts.ts';
import { openTestInbox, type TestInbox } from '../../test/support/http/inbox.ts';
import { serveRoutes } from '../../test/support/http/routes.ts';
import { runJobs } from '../../test/support/jobs.ts';
import { countLockWaits } from '../../test/support/lock-waits.ts';
import { until } from '../../test/support/until.ts';
import type { App } from '../core/http/app.ts';
import { ensureCell } from '../core/db/migrate.ts';
import { exec, many, one, raw, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { createWaker } from '../dispatch/pump.ts';
import { type Accept, createAccept } from '../messages/accept.ts';
import { createPersonHash } from '../messages/erased.ts';
import { createLocalStorage, fileRemoval } from '../core/storage.ts';
import { silentLog } from '../core/log.ts';
import { STATUS } from '../core/message-state.ts';
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
  while ((await makeDue(), await runStep()) > 0);
}
const makeDue = () => exec(inbox.database.pool, sql`UPDATE job SET run_at = now() WHERE kind = 'person.erasure'`);
/** Runs what is due of erasures. */
const runStep = (over: { readonly storage?: typeof storage } = {}) => {
  const { pool } = inbox.database;
  return runJobs(pool, personErasure.using({ pool, secretKey: inbox.deps.secretKey, storage, ...over }));
};
const listJobs = () =>
  many<{ payload: { inFlight?: string[]; isErased?: boolean }; waits: boolean }>(
    inbox.database.pool,
    sql`SELECT payload, run_at > now() + interval '1 second' AS waits FROM job WHERE kind = 'person.erasure'`,
  );

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
  const mediaLinks = () => ({ url: 'https://files.example.com/signed', thumbnailUrl: null });
  const exporting = { ...inbox.database, storage, config: { ...EXPORTS, dataDir: folder }, log: silentLog, mediaLinks };
  await exec(
    pool,
    sql`INSERT INTO media (account_id, media_key, origin, name, mime_type, size_bytes, file_key)
        SELECT ${accountId}, id::text, 'INBOUND', 'cat.png', 'image/png', 1, 'media/1/internal' FROM inbound_message LIMIT 1`,
  );
  await runJobs(pool, exportJob.using(exporting));
  const { fileKey, rows } = (await findExport(pool, { accountId, id: exportId })) ?? {};
  const copy = await text(await storage.get(fileKey ?? ''));
  for (const held of ['Quillfeather', 'Where is zanzibar?', 'Hello from zanzibar', 'OPTED_IN'])
    expect(copy).toContain(held);
  expect(copy).toContain('https://files.example.com/signed');
  for (const hidden of [OTHER, 'route_reason', 'connection_id', 'code_hash', 'file_key', 'media/1/internal'])
    expect(copy).not.toContain(hidden);
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

test('an erased person who writes START, or whose new opt-in is proven, gets messages again', async () => {
  const KIM = '+393331234590';
  await erase({ to: KIM });
  expect(await send(KIM)).toBe('opted_out');
  await inbox.write('Hello again', { from: KIM.slice(1) });
  expect(await send(KIM)).toBe('opted_out');
  await inbox.write('START', { from: KIM.slice(1) });
  expect(await send(KIM)).toBe('accepted');

  await erase({ to: KIM });
  const agree = (more: object) => {
    const consent = { to: KIM, channel: 'SMS', purpose: 'marketing', state: 'OPTED_IN', ...more };
    return call(inbox.app, 'PUT', '/consents', { consents: [consent] });
  };
  await agree({});
  await agree({ proof: { text: 'Yes', at: '2020-01-01T00:00:00Z' } });
  await agree({ proof: { text: 'Yes' } });
  expect(await send(KIM)).toBe('opted_out');
  await agree({ proof: { text: 'Yes, again', at: new Date().toISOString() } });
  expect(await send(KIM)).toBe('accepted');
  await erase({ to: KIM });
});

test('an erasure waits for decisions from when it has blocked the person, also if that failed at first', async () => {
  const LOU = '+393331234591';
  expect(await send(LOU)).toBe('accepted');
  await call(app, 'POST', '/privacy/erasures', { to: LOU });
  const broken = { ...storage, put: () => Promise.reject(new Error('the store is full')) };
  await runStep({ storage: broken });
  await makeDue();
  await runStep();
  expect(await listJobs()).toMatchObject([{ waits: true }]);
  expect(await search([LOU])).toHaveProperty('message');
  await runErasures();
  expect(await search([LOU])).toEqual({});
});

test('a recipient whom a campaign was creating during the erasure is erased, too', async () => {
  const { pool } = inbox.database;
  const { accountId } = inbox.account;
  const SAM = '+393331234594';
  expect((await call(inbox.app, 'POST', '/contacts', { phoneNumber: SAM })).status).toBe(201);
  const { id } = await one<{ id: number }>(
    pool,
    sql`INSERT INTO campaign (account_id, name, status, sending_mode) VALUES (${accountId}, 'c', 1, 'SMS') RETURNING id`,
  );
  await exec(pool, sql`INSERT INTO campaign_run (account_id, campaign_id) VALUES (${accountId}, ${id})`);
  await call(app, 'POST', '/privacy/erasures', { to: SAM });
  await runStep();
  const [created, waited] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const expanded = transaction(pool, async (tx) => {
    await exec(tx, sql`SELECT FROM campaign_run WHERE account_id = ${accountId} FOR NO KEY UPDATE`);
    await exec(
      tx,
      sql`INSERT INTO campaign_recipient (account_id, campaign_id, country, destination, channels, reserve_micros)
          VALUES (${accountId}, ${id}, 'IT', ${SAM}, 1, 0)`,
    );
    await exec(tx, sql`UPDATE campaign_run SET expanded_to = ${SAM} WHERE account_id = ${accountId}`);
    created.resolve();
    await waited.promise;
  });
  await created.promise;
  const erased = runErasures();
  await until(
    'the erasure waits for the campaign',
    async () => (await countLockWaits(pool, 'SELECT FROM campaign_run')) > 0,
  );
  waited.resolve();
  await Promise.all([expanded, erased]);
  expect(await search([SAM.slice(1)])).toEqual({});
});

test('a worker that has lost its job erases nothing', async () => {
  const { pool } = inbox.database;
  const MAX = '+393331234592';
  expect(await send(MAX)).toBe('accepted');
  await call(app, 'POST', '/privacy/erasures', { to: MAX });
  await runStep();
  const [job] = await many<{ payload: object }>(pool, sql`SELECT payload FROM job WHERE kind = 'person.erasure'`);
  const kind = personErasure.using({ pool, secretKey: inbox.deps.secretKey, storage });
  const { signal } = new AbortController();
  const lost = { id: 'x', accountId: inbox.account.accountId, payload: job?.payload, tries: 2, signal };
  await kind.run({ ...lost, end: () => Promise.resolve(false) });
  expect(await search([MAX])).toHaveProperty('message');
  await runErasures();
  expect(await search([MAX])).toEqual({});
});

test('messages that a carrier is taking are found once, and looked at again by their ids', async () => {
  const { pool } = inbox.database;
  const IDA = '+393331234593';
  expect(await send(IDA)).toBe('accepted');
  const { id } = await one<{ id: string }>(pool, sql`SELECT id FROM message WHERE destination = ${IDA}`);
  await exec(pool, sql`UPDATE dispatch_chunk SET owner = 1, intent = size WHERE ${id} = ANY(ids)`);
  await call(app, 'POST', '/privacy/erasures', { to: IDA });
  await runStep();
  await makeDue();
  await runStep();
  expect(await listJobs()).toMatchObject([{ waits: true, payload: { inFlight: [id] } }]);
  await makeDue();
  await runStep();
  expect(await search([IDA])).toHaveProperty('message');
  await exec(
    pool,
    sql`INSERT INTO message_state (account_id, id, status, attempts, updated_at, submitted_at)
        VALUES (${inbox.account.accountId}, ${id}, ${STATUS.ACCEPTED}, 1, now(), now())
        ON CONFLICT (account_id, id) DO UPDATE SET submitted_at = now()`,
  );
  await runErasures();
  expect(await search([IDA])).toEqual({});
});

test('an export that was completed while the person was erased ends before the erasure is done', async () => {
  const { pool } = inbox.database;
  const { accountId } = inbox.account;
  const { erasureId } = (await call(app, 'POST', '/privacy/erasures', { to: '+393331234594' })).body;
  await runStep();
  await exec(
    pool,
    sql`CREATE FUNCTION complete() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          INSERT INTO export (account_id, type, format, status, filters, file_key, size_bytes, expires_at)
          VALUES (NEW.account_id, 'CONTACTS', 'csv', 'COMPLETED', '{}', 'exports/1/late', 1, now() + interval '1 day');
          RETURN NULL; END $$`,
  );
  // After the statement that ends exports.
  await exec(
    pool,
    sql`CREATE TRIGGER complete AFTER UPDATE OF counts ON erasure FOR EACH ROW EXECUTE FUNCTION complete()`,
  );
  await runErasures();
  await exec(pool, sql`DROP FUNCTION complete CASCADE`);
  expect((await call(app, 'GET', `/privacy/erasures/${erasureId}`)).body.state).toBe('DONE');
  const late = await many(
    pool,
    sql`SELECT status, file_key AS key FROM export WHERE account_id = ${accountId} AND type = 'CONTACTS'`,
  );
  expect(late).toEqual([{ status: 'EXPIRED', key: null }]);
});

test('a store that cannot be read is an error, and does not count as one without erasures', async () => {
  const { pool } = inbox.database;
  const unreadable = { ...storage, exists: () => Promise.resolve(false) };
  await expect(applyErasureRecords({ pool, storage: unreadable }, eraseAgain)).rejects.toThrow('cannot be read');
  expect(await applyErasureRecords({ pool, storage }, eraseAgain)).toBe(false);
});

test.each([[{}], [{ to: ZOE, contactId: 1 }], [{ to: 'nobody' }]])('%j is rejected', async (body) => {
  expect((await call(app, 'POST', '/privacy/erasures', body)).status).toBe(400);
});
