import { rm } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import type { Pool } from 'pg';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { runJobs } from '../../test/support/jobs.ts';
import { listChunks, queueMessages, resultOf, statesOf } from '../../test/support/queue.ts';
import { receipt } from '../../test/support/receipts.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { openTwoCells, type TwoCells } from '../../test/support/two-cells.ts';
import { insertAuditEntry } from '../accounts/audit.ts';
import { createAuthenticator } from '../accounts/authenticate.ts';
import { exec, many, one, raw, sql } from '../core/db/query.ts';
import { tenant, tenantTransaction, transaction } from '../core/db/transaction.ts';
import { silentLog } from '../core/log.ts';
import { STATUS } from '../core/message-state.ts';
import { createMetrics } from '../core/metrics.ts';
import { createSecretKey } from '../core/secrets.ts';
import { createLocalStorage } from '../core/storage.ts';
import { claimChunks } from '../dispatch/store.ts';
import { receiveIntoInbox } from '../inbox/receive.ts';
import { createInboundInbox } from '../messages/inbound.ts';
import { processReceipts, settleReceipts } from '../messages/receipts.ts';
import { settleOutcomes } from '../messages/settle.ts';
import { fitIntoCredit, freeze, isShortage, topUp } from '../money/credit.ts';
import { createAccount, type NewAccount } from '../operate/account-commands.ts';
import { createPersonHash, findErased, insertErased } from '../messages/erased.ts';
import { checkMoves } from '../operate/doctor-checks.ts';
import { applyErasureRecords } from '../operate/erasure-records.ts';
import { carriedErasures, eraseAgain } from '../operate/erasures.ts';
import { reconcile } from '../operate/reconciliation.ts';
import { type Cell, hold, isCopied, isWork, listTables, own, release } from './copy.ts';
import { listMovedAccounts } from './directory.ts';
import { clearMoved, findAway, matchConnections, moveAccount, settle } from './move.ts';
import { passOn } from './pass-on.ts';

let cells: TwoCells;
let [a, b]: [Cell, Cell] = [] as never;
let account: NewAccount;
let accountId: number;

beforeEach(async () => {
  cells = await openTwoCells();
  ({ a, b } = cells);
  account = await createAccount(a.pool, { name: 'Acme', plan: 'production', creditMicros: 5_000_000 });
  ({ accountId } = account);
});
afterEach(() => cells[Symbol.asyncDispose]());

type Changes = { readonly directory?: Pool; readonly onStep?: (step: string) => void };
const move = async (
  source: Cell,
  target: Cell,
  { directory = cells.directory, onStep = () => undefined }: Changes = {},
) =>
  moveAccount({
    source,
    target,
    directory,
    accountId,
    ids: await matchConnections(source.pool, target.pool),
    onStep,
  });
const failAt = (fatal: string) => (step: string) => {
  if (step === fatal) throw new Error(`failed when ${step}`);
};
/** A directory that is unavailable. */
const NO_DIRECTORY = { connect: () => Promise.reject(new Error('no directory')) } as unknown as Pool;
NO_DIRECTORY.query = (() => Promise.reject(new Error('no directory'))) as never;

const ends = () => ({ source: a.pool, target: b.pool, directory: cells.directory });
const takeBack = () => transaction(a.pool, (tx) => release(tx, accountId));
const placeOf = async () => (await listMovedAccounts(cells.directory)).get(accountId);
const queue = (more: Parameters<typeof queueMessages>[1] = {}) =>
  queueMessages(a.pool, { accountId, connectionId: cells.mainOfA, priceMicros: 1000, ...more });
const claim = (pool: Pool, connectionId: number) =>
  claimChunks(pool, { connectionId, owner: 7, messages: 5000, belowPriority: 9 });
const admit = (pool: Pool) =>
  createAuthenticator({ pool, log: silentLog }).authenticate({
    headers: { 'x-api-key': account.apiKey },
    ip: '198.51.100.7',
    protocol: 'https',
  });
const AWAY = { code: 'unavailable', retryAfterSeconds: 1 };

/** Expects that the account is served in one cell and denied in the other. */
async function expectServed(here: Cell, there: Cell): Promise<void> {
  expect((await admit(here.pool)).actor).toMatchObject({ accountId });
  await expect(admit(there.pool)).rejects.toMatchObject(there === b ? {} : AWAY);
}

/** Claims the chunks that wait at a connection, and records that the carrier took them. */
async function sendAll(pool: Pool, connectionId: number, carrierId: (messageId: string) => string): Promise<string[]> {
  const ids = (await claim(pool, connectionId)).flatMap((chunk) => chunk.ids);
  const results = ids.map((id) =>
    resultOf(id, { kind: 'accepted', carrierIds: [carrierId(id)] }, { accountId, connectionId }),
  );
  await transaction(pool, async (tx) => {
    await settleOutcomes(tx, results, true);
    await exec(tx, sql`DELETE FROM dispatch_chunk WHERE owner = 7`);
  });
  return ids;
}

const money = (pool: Pool) =>
  one(
    pool,
    sql`SELECT available_micros AS available, (SELECT sum(micros)::bigint FROM credit_frozen) AS frozen,
      (SELECT sum(amount_micros)::bigint FROM ledger_entry WHERE account_id = ${accountId}) AS booked
    FROM credit_balance WHERE account_id = ${accountId}`,
  );

/** Counts the rows of the account in each table with rows of accounts. */
async function countRows({ pool }: Cell): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const table of await listTables(pool)) {
    const rows = sql`SELECT count(*) AS count FROM ${raw(table.name)} WHERE ${own(table, accountId)}`;
    const { count } = await one<{ count: number }>(pool, rows);
    if (count > 0) counts[table.name] = count;
  }
  return counts;
}

test('an account moves with its rows, its queue and its credit, and is served in the target alone', async () => {
  const ids = await queue({ count: 5, size: 2 });
  await queue({ count: 1, availableAt: new Date(Date.now() + 3_600_000) });
  await exec(
    a.pool,
    sql`INSERT INTO webhook_outbox (account_id, kind, message_ids, at, errors)
        VALUES (${accountId}, 'DELIVERY', ${ids.slice(0, 1)}::uuid[], ARRAY[now()], '{NULL}')`,
  );
  const before = { rows: await countRows(a), money: await money(a.pool) };
  const moved = await move(a, b);
  expect(moved).toMatchObject({ rows: expect.any(Number), heldMs: expect.any(Number) });
  expect({ rows: await countRows(b), money: await money(b.pool) }).toEqual(before);
  expect(await listChunks(a.pool)).toEqual([]);
  const chunks = await listChunks(b.pool);
  expect(chunks.map((chunk) => chunk.ids).slice(0, 3)).toEqual([ids.slice(0, 2), ids.slice(2, 4), ids.slice(4)]);
  expect(await sendAll(b.pool, cells.mainOfB, (id) => id)).toEqual(ids);
  await expectServed(b, a);
  expect(await findAway(a.pool, accountId)).toEqual({ accountId, state: 'moved', cell: 1, moves: 0 });
  expect(await placeOf()).toBe(1);
  expect(await move(a, b)).toEqual({ rows: 0, heldMs: null });
});

test('an account moves back, what it left behind before does not count, and routes of the cells stay', async () => {
  await queue({ count: 3 });
  for (const [{ pool }, connectionId] of [[a, cells.mainOfA] as const, [b, cells.mainOfB] as const])
    await exec(
      pool,
      sql`INSERT INTO conditional_route (id, channel, connection_id, owner_id) VALUES (7, 'SMS', ${connectionId}, ${accountId})`,
    );
  await move(a, b);
  await sendAll(b.pool, cells.mainOfB, (id) => id);
  await move(b, a);
  expect(await many(a.pool, sql`SELECT connection_id AS at, status FROM message_state`)).toEqual(
    Array.from({ length: 3 }, () => ({ at: cells.mainOfA, status: STATUS.ACCEPTED })),
  );
  await expectServed(a, b);
  expect(await placeOf()).toBe(0);
  for (const { pool } of [a, b]) expect(await many(pool, sql`SELECT FROM conditional_route`)).toHaveLength(1);
});

test('every table with rows of an account is copied, put aside or named as staying, after those it refers to', async () => {
  const tables = await listTables(a.pool);
  const kinds = (some: typeof tables) => [...new Set(some.map(({ kind }) => kind))].sort();
  const rest = tables.filter((table) => !isCopied(table) && !isWork(table)).map(({ name }) => name);
  expect(rest.sort()).toEqual(
    `conditional_route contact_upload contact_upload_part keyword_count lookup_budget passed_on price quality_sample
     single_sign_on_state smpp_bind social_state webhook_claim webhook_published`.split(/\s+/),
  );
  const queues = tables.filter((table) => table.kind === 'queue' && isCopied(table)).map(({ name }) => name);
  expect(queues.sort()).toEqual(['account_work', 'dispatch_chunk']);
  expect(kinds(tables.filter(isCopied))).toEqual(['facts', 'queue', 'shared']);
  const names = tables.map(({ name }) => name);
  const late = tables.flatMap(({ parents }, n) => parents.filter((parent) => names.indexOf(parent) > n));
  expect(late).toEqual([]);
});

describe('while an account is held', () => {
  const AT_WALL = { code: '57HM1' };

  test('nothing is accepted, written behind the wall, booked or claimed, and after it everything is', async () => {
    const [id = ''] = await queue({ availableAt: new Date(Date.now() - 1000) });
    const before = { rows: await countRows(a), money: await money(a.pool) };
    await hold(a.pool, { accountId, cell: 1 });
    await expect(admit(a.pool)).rejects.toMatchObject(AWAY);
    await expect(tenant(a.pool, account).query({ text: 'SELECT 1', values: [] })).rejects.toMatchObject(AT_WALL);
    await expect(tenantTransaction(a.pool, account, (tx) => tx.query('SELECT 1'))).rejects.toMatchObject(AT_WALL);
    const free = { accountId, micros: 0 };
    await expect(transaction(a.pool, (tx) => freeze(tx, [free], id))).rejects.toSatisfy(isShortage);
    await expect(fitIntoCredit(a.pool, [{ ...free, key: null }])).rejects.toMatchObject({ accountIds: [accountId] });
    await expect(transaction(a.pool, (tx) => topUp(tx, { ...free, micros: 1, reference: 'x' }))).rejects.toMatchObject(
      AWAY,
    );
    const entry = { accountId, id, actorKind: 'system', action: 'account.rename', subject: null, detail: {} };
    const author = { keyId: null, userId: null, username: null };
    await expect(insertAuditEntry(a.pool, { ...entry, ...author } as never)).rejects.toMatchObject(AT_WALL);
    expect(await claim(a.pool, cells.mainOfA)).toEqual([]);
    const held = `account ${accountId} is held on its way to cell 1: its requests get 503`;
    expect(await checkMoves(a.pool)).toMatchObject({ ok: false, detail: held });
    await takeBack();
    expect({ rows: await countRows(a), money: await money(a.pool) }).toEqual(before);
    expect(await checkMoves(a.pool)).toMatchObject({ ok: true, detail: 'none' });
    expect(await claim(a.pool, cells.mainOfA)).toHaveLength(1);
    await admit(a.pool);
  });

  test('it waits for messages that are being accepted, and for those that a worker holds', async () => {
    await queue();
    const [chunk] = await claim(a.pool, cells.mainOfA);
    const accepting = await a.pool.connect();
    await accepting.query('BEGIN');
    await accepting.query('UPDATE credit_balance SET available_micros = available_micros - 1');
    const holding = hold(a.pool, { accountId, cell: 1 });
    await expect.poll(() => findAway(a.pool, accountId)).toMatchObject({ state: 'held' });
    await accepting.query('COMMIT');
    accepting.release();
    await exec(a.pool, sql`UPDATE dispatch_chunk SET owner = NULL WHERE id = ${chunk?.id}`);
    await holding;
    await takeBack();
    expect(await money(a.pool)).toMatchObject({ available: 4_998_999 });
  });

  test('receipts and inbound messages are kept, and taken where the account is then', async () => {
    await queue();
    const [id = ''] = await sendAll(a.pool, cells.mainOfA, () => 'carrier-1');
    await hold(a.pool, { accountId, cell: 1 });
    await arrive('carrier-1');
    await takeBack();
    await cells.runTasks(a);
    await processReceipts(a.pool, () => new Date());
    expect((await statesOf(a.pool, [id])).get(id)).toMatchObject({ status: STATUS.DELIVERED });
  });
});

const arrive = (carrierId: string) =>
  settleReceipts(
    a.pool,
    [{ connectionId: cells.mainOfA, receipt: receipt(carrierId), receivedAt: new Date() }],
    new Date(),
  );

test('chunks of an account follow one another in the queue that they arrive in', async () => {
  const ids = await queue({ count: 450, size: 1 });
  await exec(a.pool, sql`UPDATE dispatch_chunk SET available_at = now() + interval '1 hour' WHERE id % 2 = 0`);
  await move(a, b);
  const chunks = await listChunks(b.pool);
  expect(chunks.map(({ round }) => round)).toEqual(ids.map((_, n) => n));
  expect(chunks.flatMap((chunk) => chunk.ids)).toEqual(ids);
});

test('chunks of a paused campaign arrive parked, and those of others as they were before', async () => {
  await queue({ campaignId: 7 });
  await queue();
  await exec(
    a.pool,
    sql`INSERT INTO campaign (account_id, id, name, status, sending_mode, confirmed_at, paused_at) OVERRIDING SYSTEM VALUE
        VALUES (${accountId}, 7, 'Spring', 2, 'SMS', now(), now())`,
  );
  await move(a, b);
  const rows = await many(
    b.pool,
    sql`SELECT campaign_id AS "campaignId", parked_until IS NOT NULL AS parked, available_at = 'infinity' AS never
        FROM dispatch_chunk ORDER BY id`,
  );
  expect(rows).toEqual([
    { campaignId: 7, parked: true, never: true },
    { campaignId: null, parked: false, never: false },
  ]);
});

test('an account that has moved with messages in its queue is not in the differences of a reconciliation', async () => {
  await queue({ count: 3 });
  await move(a, b);
  const reports = await reconcile(a.pool, { hours: 1, now: new Date() });
  expect(reports.flatMap(({ ok, data }) => (ok ? [] : data))).toEqual([]);
});

describe('when a move fails', () => {
  test.each(['holding', 'copying', 'switching'])(
    'at %s, the account is served in the source as before',
    async (step) => {
      await queue({ count: 2 });
      const before = { rows: await countRows(a), money: await money(a.pool) };
      await expect(move(a, b, { onStep: failAt(step) })).rejects.toThrow(`failed when ${step}`);
      expect({ rows: await countRows(a), money: await money(a.pool) }).toEqual(before);
      expect(await countRows(b)).toEqual({});
      await expectServed(a, b);
      expect((await move(a, b)).heldMs).not.toBeNull();
    },
  );

  test('because a name is taken in the target, it stays and says so', async () => {
    await createAccount(b.pool, { name: 'Acme', plan: 'trial' });
    await expect(move(a, b)).rejects.toThrow('app_user_username_key');
    expect((await admit(a.pool)).actor).toMatchObject({ accountId });
  });

  test('because its process died while it held the account, a worker has it served in the source again', async () => {
    await queue();
    await hold(a.pool, { accountId, cell: 1 });
    await cells.runTasks(a);
    await expectServed(a, b);
    expect(await claim(a.pool, cells.mainOfA)).toHaveLength(1);
  });

  test.each(['a worker', 'the command'])('after the copy was committed, %s completes it', async (who) => {
    const ids = await queue({ count: 2 });
    await expect(move(a, b, { directory: NO_DIRECTORY })).rejects.toThrow('no directory');
    expect(await findAway(a.pool, accountId)).toMatchObject({ state: 'held' });
    expect(await placeOf()).toBeUndefined();
    if (who === 'a worker') await cells.runTasks(a);
    else expect(await move(a, b)).toEqual({ rows: 0, heldMs: null });
    expect(await placeOf()).toBe(1);
    await expectServed(b, a);
    expect(await sendAll(b.pool, cells.mainOfB, (id) => id)).toEqual(ids);
    expect(await listChunks(a.pool)).toEqual([]);
  });

  test('nothing is decided while a copy may still be committed, nor while the target is away', async () => {
    await hold(a.pool, { accountId, cell: 1 });
    const held = await findAway(a.pool, accountId);
    if (!held) throw new Error('not held');
    const copying = await b.openSession();
    await copying.query(`BEGIN; SELECT pg_advisory_xact_lock(7306501, hashint8(${accountId}))`);
    expect(await settle(ends(), held)).toBeNull();
    await cells.runTasks(a);
    await expect(move(a, b)).rejects.toThrow('Another process moves the account');
    await copying.end();
    await expect(cells.runTasks(a, new Map())).rejects.toThrow('CELL_DATABASES must name it');
    expect(await findAway(a.pool, accountId)).toMatchObject({ state: 'held' });
    await expect.poll(() => settle(ends(), held)).toBe(false);
    await admit(a.pool);
  });

  test('a copy whose move was taken back meanwhile is not committed', async () => {
    const openSession = async () => {
      const session = await a.openSession();
      const query = session.query.bind(session) as (text: string) => Promise<unknown>;
      session.query = ((text: string) =>
        typeof text === 'string' && text.startsWith('BEGIN')
          ? takeBack().then(() => query(text))
          : query(text)) as never;
      return session;
    };
    await expect(move({ ...a, openSession }, b)).rejects.toThrow('The move was undone');
    expect(await countRows(b)).toEqual({});
    await expectServed(a, b);
  });
});

describe('what carriers send to the former cell', () => {
  test('a receipt counts in the new one, once', async () => {
    await queue();
    const [id = ''] = await sendAll(a.pool, cells.mainOfA, () => 'carrier-1');
    await move(a, b);
    await arrive('carrier-1');
    expect((await statesOf(a.pool, [id])).get(id)).toMatchObject({ status: STATUS.ACCEPTED });
    const pass = () => passOn(a.pool, b.pool, 1, receiveIntoInbox);
    const [kept] = await many<{ id: string; content: string }>(a.pool, sql`SELECT id, content::text FROM passed_on`);
    expect(await pass()).toBe(1);
    expect(await processReceipts(b.pool, () => new Date())).toBe(1);
    expect((await statesOf(b.pool, [id])).get(id)).toMatchObject({ status: STATUS.DELIVERED });
    // As after a worker that was killed before it could delete the rows that the new cell had taken.
    await exec(
      a.pool,
      sql`INSERT INTO passed_on (id, account_id, connection_id, kind, content)
          VALUES (${kept?.id}, ${accountId}, ${cells.mainOfA}, 'receipt', ${kept?.content})`,
    );
    expect([await pass(), await pass()]).toEqual([1, 0]);
    expect(await processReceipts(b.pool, () => new Date())).toBe(0);
  });

  test('an inbound message reaches the account in the new one', async () => {
    await exec(
      a.pool,
      sql`INSERT INTO inbound_number (connection_id, number, account_id) VALUES (${cells.mainOfA}, '4400', ${accountId})`,
    );
    await move(a, b);
    const take = createInboundInbox({
      log: silentLog,
      metrics: createMetrics(),
      pool: a.pool,
      onInbound: receiveIntoInbox,
    });
    const inbound = {
      source: '393331234567',
      destination: '4400',
      text: 'Ciao',
      concat: null,
      raw: Buffer.from('Ciao'),
    };
    await take({ connectionId: cells.mainOfA, inbound });
    expect(await many(a.pool, sql`SELECT FROM inbound_message`)).toEqual([]);
    await cells.runTasks(a);
    expect(
      await many(b.pool, sql`SELECT account_id AS "accountId", connection_id AS at, body, octets FROM inbound_message`),
    ).toEqual([{ accountId, at: cells.mainOfB, body: 'Ciao', octets: Buffer.from('Ciao') }]);
  });

  test('waits where its connection or its cell is missing, and holds up nothing else', async () => {
    await queue();
    const [id = ''] = await sendAll(a.pool, cells.mainOfA, () => 'carrier-1');
    await move(a, b);
    const keep = (owner: number, connectionId: number) =>
      exec(
        a.pool,
        sql`INSERT INTO passed_on (account_id, connection_id, kind, content) VALUES (${owner}, ${connectionId}, 'receipt', '[]')`,
      );
    await keep(accountId, 999);
    const other = await createAccount(a.pool, { name: 'Other', plan: 'trial' });
    await exec(a.pool, sql`UPDATE account SET away = 'moved', cell = 5 WHERE id = ${other.accountId}`);
    await keep(other.accountId, cells.mainOfA);
    await arrive('carrier-1');
    await expect(cells.runTasks(a)).rejects.toThrow('CELL_DATABASES must name it');
    await processReceipts(b.pool, () => new Date());
    expect((await statesOf(b.pool, [id])).get(id)).toMatchObject({ status: STATUS.DELIVERED });
    const pass = passOn(a.pool, b.pool, 1, receiveIntoInbox);
    await expect(pass).rejects.toThrow('lacks the connection of this cell with the id 999');
  });
});

test('what an account has left behind is deleted on request, unless it is the only copy or something waits', async () => {
  const clear = () => clearMoved(ends(), accountId);
  await expect(clear()).rejects.toThrow('has not moved');
  await queue();
  await sendAll(a.pool, cells.mainOfA, () => 'carrier-1');
  await move(a, b);
  await arrive('carrier-1');
  await expect(clear()).rejects.toThrow('wait to be passed on');
  await cells.runTasks(a);
  await exec(b.pool, sql`UPDATE account SET moves = 0`);
  await expect(clear()).rejects.toThrow('does not have the account');
  await exec(b.pool, sql`UPDATE account SET moves = 1`);
  await clear();
  expect(await countRows(a)).toEqual({});
  await admit(b.pool);
});

test('whom an account has erased stays erased in its new cell, also when that is restored to an earlier stay', async () => {
  const phoneNumber = '+393331234567';
  const hashOf = createPersonHash(createSecretKey(Buffer.alloc(32, 4)));
  const erased = () => findErased(b.pool, hashOf, { accountId, numbers: [phoneNumber, '+393331234568'] });
  await insertErased(a.pool, [{ accountId, hash: hashOf({ accountId, phoneNumber }) }]);
  await move(a, b);
  await using opened = new AsyncDisposableStack();
  const folder = await temporaryFolder('heliograph-move-');
  opened.defer(() => rm(folder, { recursive: true }));
  const storage = createLocalStorage(folder);
  expect(await runJobs(b.pool, carriedErasures.using({ pool: b.pool, storage }))).toBe(1);
  expect(await text(await storage.get('erasures/1/1.json'))).not.toContain('3331234567');
  expect([...(await erased())]).toEqual([phoneNumber]);
  expect(await applyErasureRecords({ pool: b.pool, storage }, eraseAgain)).toBe(false);
  await exec(b.pool, sql`DELETE FROM erased_person`);
  await exec(b.pool, sql`UPDATE cell SET erasures = 0`);
  expect(await applyErasureRecords({ pool: b.pool, storage }, eraseAgain)).toBe(true);
  expect([...(await erased())]).toEqual([phoneNumber]);
});
