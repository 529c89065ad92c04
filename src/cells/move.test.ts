import type { Pool } from 'pg';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { receiveIntoInbox } from '../../engagement/inbox/receive-inbound.ts';
import { createAuthenticator } from '../../identity/authentication/authenticate.ts';
import { createInboundInbox } from '../../messaging/inbound/receive.ts';
import { insertMessages } from '../../messaging/messages/new/sql.ts';
import { settleOutcomes } from '../../messaging/messages/settle-outcomes.ts';
import { processReceipts, settleReceipts } from '../../messaging/receipts/process.ts';
import { STATUS } from '../../messaging/states.ts';
import { claimChunks } from '../../network/dispatch/sql.ts';
import { insertConnection } from '../../network/connections/sql.ts';
import { topUp } from '../../money/credit/charge.ts';
import { isAway } from '../../platform/db/away.ts';
import { exec, many, one, sql } from '../../platform/db/query.ts';
import { tenant, tenantTransaction } from '../../platform/db/tenant.ts';
import { transaction } from '../../platform/db/transaction.ts';
import { silentLog } from '../../platform/lib/log.ts';
import { listChunks, newMessage, queueMessages, resultOf, statesOf } from '../../../test/support/queue.ts';
import { receipt } from '../../../test/support/receipts.ts';
import { carryWhole, openTwoCells, runMoveTasks } from '../../../test/support/two-cells.ts';
import { createAccount, type NewAccount } from '../accounts/create.ts';
import { reconcile } from '../operator/reconciliation/reconcile.ts';
import type { Cell } from './cells.ts';
import { listObstacles, matchConnections } from './check.ts';
import { copyAhead } from './copy-ahead.ts';
import { finishMove } from './finish.ts';
import { freeze, prepare } from './leave.ts';
import { measureAccount } from './measure.ts';
import { moveAccountTo, removeAccount, undo } from './move.ts';
import { passOn } from './pass-on.ts';
import { findMove } from './sql.ts';
import { countLockWaits } from '../../../test/support/lock-waits.ts';

let opened: AsyncDisposableStack;
let [a, b]: [Cell, Cell] = [] as never;
let urls: Map<number, string>;
let account: NewAccount;
/** The connection `main` in each cell. */
let [mainOfA, mainOfB] = [0, 0];

beforeEach(async () => {
  opened = new AsyncDisposableStack();
  ({ a, b, urls, mainOfA, mainOfB } = opened.use(await openTwoCells()));
  account = await createAccount(a.pool, { name: 'Acme', plan: 'production', creditMicros: 5_000_000 });
});
afterEach(() => opened.disposeAsync());

const move = async (source: Cell, target: Cell) =>
  moveAccountTo({
    source,
    target,
    directory: null,
    accountId: account.accountId,
    ids: await matchConnections(source.pool, target.pool),
    checkLock: () => Promise.resolve(),
    onStep: () => undefined,
  });

const queue = (more: Parameters<typeof queueMessages>[1] = {}) =>
  queueMessages(a.pool, { accountId: account.accountId, connectionId: mainOfA, priceMicros: 1000, ...more });

const admit = (pool: Pool) =>
  createAuthenticator({ pool, log: silentLog }).authenticate({
    headers: { 'x-api-key': account.apiKey },
    ip: '198.51.100.7',
    protocol: 'https',
  });
const AWAY = { code: 'unavailable', retryAfterSeconds: 1 };

/** Claims what waits at a connection, and records that the carrier took it. */
async function sendAll(pool: Pool, connectionId: number, carrierId: (messageId: string) => string): Promise<string[]> {
  const chunks = await claimChunks(pool, { connectionId, owner: 7, messages: 5000, belowPriority: 9 });
  const ids = chunks.flatMap((chunk) => chunk.ids);
  const { accountId } = account;
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
      (SELECT sum(amount_micros)::bigint FROM ledger_entry WHERE account_id = ${account.accountId}) AS booked
    FROM credit_balance WHERE account_id = ${account.accountId}`,
  );

test('an account moves with its rows, its queue and its credit, and is served in the target alone', async () => {
  const ids = await queue({ count: 5, size: 2 });
  await queue({ count: 1, availableAt: new Date(Date.now() + 3_600_000) });
  const before = { ...(await measureAccount(a.pool, account.accountId)), money: await money(a.pool) };
  const moved = await move(a, b);
  expect(moved).toMatchObject({ carried: 4, pauseMs: expect.any(Number) });
  const after = { ...(await measureAccount(b.pool, account.accountId)), money: await money(b.pool) };
  const rowsOf = ({ tables }: typeof before) => tables.map(({ name, count }) => [name, count]);
  expect(rowsOf(after as never)).toEqual(rowsOf(before as never));
  expect(after.money).toEqual(before.money);
  expect(await listChunks(a.pool)).toEqual([]);
  expect((await listChunks(b.pool)).map((chunk) => chunk.ids).slice(0, 3)).toEqual([
    ids.slice(0, 2),
    ids.slice(2, 4),
    ids.slice(4),
  ]);
  expect(await sendAll(b.pool, mainOfB, (id) => id)).toEqual(ids);
  await expect(admit(a.pool)).rejects.toMatchObject(AWAY);
  expect((await admit(b.pool)).actor).toMatchObject({ accountId: account.accountId });
  expect(await findMove(a.pool, account)).toMatchObject({ state: 'left', cell: 1, arrived: true });
  expect(await findMove(b.pool, account)).toBeUndefined();
});

test('an account moves back, and what it left behind before does not count', async () => {
  await queue({ count: 3 });
  await move(a, b);
  await sendAll(b.pool, mainOfB, (id) => id);
  await move(b, a);
  expect(await many(a.pool, sql`SELECT connection_id AS at, status FROM message_state`)).toEqual(
    Array.from({ length: 3 }, () => ({ at: mainOfA, status: STATUS.ACCEPTED })),
  );
  expect((await admit(a.pool)).actor).toMatchObject({ accountId: account.accountId });
  await expect(admit(b.pool)).rejects.toMatchObject(AWAY);
});

test('while it leaves, nothing is accepted, written behind the wall, or claimed', async () => {
  await queue();
  const { accountId } = account;
  await freeze(a.pool, { accountId, cell: 1, hasDirectory: false, seconds: 60 });
  await expect(admit(a.pool)).rejects.toMatchObject(AWAY);
  const refused = { code: 'HM001' };
  await expect(insertMessages(a.pool, [newMessage({ accountId })])).rejects.toSatisfy(isAway);
  await expect(tenant(a.pool, account).query({ text: 'SELECT 1', values: [] })).rejects.toMatchObject(refused);
  await expect(tenantTransaction(a.pool, account, (tx) => tx.query('SELECT 1'))).rejects.toMatchObject(refused);
  expect(await claimChunks(a.pool, { connectionId: mainOfA, owner: 7, messages: 9, belowPriority: 9 })).toEqual([]);
  expect(await undo({ source: a.pool, target: b.pool, directory: null }, accountId)).toBe(true);
  expect(await claimChunks(a.pool, { connectionId: mainOfA, owner: 7, messages: 9, belowPriority: 9 })).toHaveLength(1);
  await admit(a.pool);
});

test('it does not leave while a worker holds messages of it, or an older transaction is open', async () => {
  const { accountId } = account;
  await queue();
  await claimChunks(a.pool, { connectionId: mainOfA, owner: 7, messages: 9, belowPriority: 9 });
  await expect(freeze(a.pool, { accountId, cell: 1, hasDirectory: false, seconds: 0.2 })).rejects.toThrow(
    'Workers still send 1 chunks',
  );
  await exec(a.pool, sql`UPDATE dispatch_chunk SET owner = NULL`);
  const reader = await a.pool.connect();
  await reader.query('BEGIN');
  await reader.query('SELECT 1');
  await expect(freeze(a.pool, { accountId, cell: 1, hasDirectory: false, seconds: 0.2 })).rejects.toThrow(
    '1 transactions that began before',
  );
  reader.release(true);
});

test('the copy of another account, which may take an hour, does not keep it from leaving', async () => {
  const copying = await a.openSession();
  await copying.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
  await copying.query('SELECT FROM message');
  await freeze(a.pool, { accountId: account.accountId, cell: 1, hasDirectory: false, seconds: 0.2 });
  await copying.end();
});

test('the backlog is parked before its requests are held, and what is sent meanwhile is not', async () => {
  const { accountId } = account;
  const leaving = { accountId, cell: 1, hasDirectory: false };
  await queue();
  await prepare(a.pool, { ...leaving, thenSeconds: 0 });
  const [later] = await queue();
  const claim = () => claimChunks(a.pool, { connectionId: mainOfA, owner: 7, messages: 9, belowPriority: 9 });
  expect((await claim()).map(({ ids }) => ids)).toEqual([[later]]);
  await admit(a.pool);
  await undo({ source: a.pool, target: b.pool, directory: null }, accountId);
  expect(await claim()).toHaveLength(1);
});

test('many chunks follow one another in the queue that they arrive in', async () => {
  const ids = await queue({ count: 450, size: 1 });
  await exec(a.pool, sql`UPDATE dispatch_chunk SET available_at = now() + interval '1 hour' WHERE id % 2 = 0`);
  await move(a, b);
  const chunks = await listChunks(b.pool);
  expect(chunks.map(({ round }) => round)).toEqual(ids.map((_, n) => n));
  expect(chunks.flatMap((chunk) => chunk.ids)).toEqual(ids);
});

test('chunks of a paused campaign arrive parked, and those of others as they were before they were parked', async () => {
  const { accountId } = account;
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

test('an account that has left with messages in its queue is not in the differences of a reconciliation', async () => {
  await queue({ count: 3 });
  const differences = async () =>
    (await reconcile(a.pool, { hours: 1, now: new Date() })).flatMap(({ ok, data }) => (ok ? [] : data));
  await move(a, b);
  expect(await differences()).toEqual([]);
});

describe('a move back that is given up', () => {
  const number = '4400';
  const send = () => {
    const inbound = {
      source: '393331234567',
      destination: number,
      text: 'Ciao',
      concat: null,
      raw: Buffer.from('Ciao'),
    };
    return createInboundInbox({ pool: a.pool, onInbound: receiveIntoInbox })({ connectionId: mainOfA, inbound });
  };
  const listInbound = ({ pool }: Cell) => many(pool, sql`SELECT account_id AS "accountId", body FROM inbound_message`);
  let back: Parameters<typeof copyAhead>[0];

  beforeEach(async () => {
    const { accountId } = account;
    await exec(
      a.pool,
      sql`INSERT INTO inbound_number (connection_id, number, account_id) VALUES (${mainOfA}, ${number}, ${accountId})`,
    );
    await queue();
    await move(a, b);
    back = { source: b, target: a, accountId, ids: await matchConnections(b.pool, a.pool) };
  });
  const giveUp = () => undo({ source: b.pool, target: a.pool, directory: null }, account.accountId);

  test('passes on what carriers of the former cell have sent during it, and what they send later', async () => {
    await copyAhead(back);
    await send();
    expect(await giveUp()).toBe(true);
    expect(await findMove(a.pool, account)).toMatchObject({ state: 'left', cell: 1, arrived: true });
    await runTasks(a);
    expect(await listInbound(b)).toEqual([{ accountId: account.accountId, body: 'Ciao' }]);
    expect(await listInbound(a)).toEqual([]);
    await removeAccount(a.pool, account.accountId);
  });

  test('leaves none of the work that it had brought', async () => {
    await copyAhead(back);
    await freeze(b.pool, { accountId: account.accountId, cell: 0, hasDirectory: false, seconds: 60 });
    await carryWhole(back);
    // As when the commit in the source is lost.
    await exec(b.pool, sql`UPDATE account_move SET state = 'leaving'`);
    expect(await giveUp()).toBe(true);
    expect(await many(a.pool, sql`SELECT FROM account_parcel`)).toEqual([]);
  });

  test('is not begun before the move to that cell is over', async () => {
    await exec(a.pool, sql`UPDATE account_move SET arrived_at = NULL`);
    expect(await listObstacles(back)).toEqual([
      'The move of the account from cell 0 is not over: run it again there, or wait for a worker.',
    ]);
  });
});

test('when the copy fails, the account is served in the source as before', async () => {
  await queue({ count: 2 });
  await createAccount(b.pool, { name: 'Acme', plan: 'trial' });
  await expect(move(a, b)).rejects.toThrow('app_user_username_key');
  expect(await claimChunks(a.pool, { connectionId: mainOfA, owner: 7, messages: 9, belowPriority: 9 })).toHaveLength(1);
  await admit(a.pool);
  expect(await findMove(b.pool, account)).toBeUndefined();
});

test('a worker serves an account again whose move takes too long', async () => {
  await queue();
  const { accountId } = account;
  await freeze(a.pool, { accountId, cell: 1, hasDirectory: false, seconds: 60 });
  await exec(a.pool, sql`UPDATE account_move SET ends_at = now() - interval '1 second'`);
  await expect(runTasks(a)).resolves.toBeUndefined();
  await admit(a.pool);
  expect(await claimChunks(a.pool, { connectionId: mainOfA, owner: 7, messages: 9, belowPriority: 9 })).toHaveLength(1);
  const ids = await matchConnections(a.pool, b.pool);
  await expect(carryWhole({ source: a, target: b, accountId, ids })).rejects.toThrow('The time of the move is over');
});

test('a worker completes a move that was decided before its command was killed', async () => {
  const { accountId } = account;
  const ids = await queue({ count: 2 });
  await freeze(a.pool, { accountId, cell: 1, hasDirectory: false, seconds: 60 });
  await carryWhole({ source: a, target: b, accountId, ids: await matchConnections(a.pool, b.pool) });
  await expect(admit(b.pool)).rejects.toMatchObject(AWAY);
  expect(await listChunks(b.pool)).toEqual([]);
  expect(await undo({ source: a.pool, target: b.pool, directory: null }, accountId)).toBe(false);
  await expect(undo({ source: b.pool, target: a.pool, directory: null }, accountId)).rejects.toThrow(
    'arriving from cell 0: abort that move there',
  );
  await runTasks(a);
  await runTasks(a);
  await admit(b.pool);
  expect(await sendAll(b.pool, mainOfB, (id) => id)).toEqual(ids);
});

const runTasks = (cell: Cell) => runMoveTasks(cell, { databases: urls });

test('a receipt that arrives in the former cell counts in the new one, once', async () => {
  await queue();
  const [id = ''] = await sendAll(a.pool, mainOfA, () => 'carrier-1');
  await move(a, b);
  await settleReceipts(
    a.pool,
    [{ connectionId: mainOfA, receipt: receipt('carrier-1'), receivedAt: new Date() }],
    new Date(),
  );
  expect((await statesOf(a.pool, [id])).get(id)).toMatchObject({ status: STATUS.ACCEPTED });
  const pass = () => passOn({ source: a.pool, target: b.pool, cell: 1, onInbound: receiveIntoInbox });
  const [kept] = await many<{ id: string; content: string }>(a.pool, sql`SELECT id, content::text FROM passed_on`);
  expect(await pass()).toBe(1);
  expect(await processReceipts(b.pool, () => new Date())).toBe(1);
  expect((await statesOf(b.pool, [id])).get(id)).toMatchObject({ status: STATUS.DELIVERED });
  // As after a worker that was killed before it could delete what the new cell had taken.
  await exec(
    a.pool,
    sql`INSERT INTO passed_on (id, account_id, connection_id, kind, content)
        VALUES (${kept?.id}, ${account.accountId}, ${mainOfA}, 'receipt', ${kept?.content})`,
  );
  expect(await pass()).toBe(1);
  expect(await pass()).toBe(0);
  expect(await processReceipts(b.pool, () => new Date())).toBe(0);
});

test('an inbound message to the former cell reaches the account in the new one', async () => {
  const { accountId } = account;
  await exec(
    a.pool,
    sql`INSERT INTO inbound_number (connection_id, number, account_id) VALUES (${mainOfA}, '4400', ${accountId})`,
  );
  await move(a, b);
  const take = createInboundInbox({ pool: a.pool, onInbound: receiveIntoInbox });
  const inbound = { source: '393331234567', destination: '4400', text: 'Ciao', concat: null, raw: Buffer.from('Ciao') };
  await take({ connectionId: mainOfA, inbound });
  expect(await many(a.pool, sql`SELECT FROM inbound_message`)).toEqual([]);
  await runTasks(a);
  expect(
    await many(b.pool, sql`SELECT account_id AS "accountId", connection_id AS at, body, octets FROM inbound_message`),
  ).toEqual([{ accountId, at: mainOfB, body: 'Ciao', octets: Buffer.from('Ciao') }]);
});

test('what came over a connection that the new cell lacks waits, is named, and holds up nothing else', async () => {
  const { accountId } = account;
  await queue();
  const [id = ''] = await sendAll(a.pool, mainOfA, () => 'carrier-1');
  await move(a, b);
  // An older row, of a connection that no longer exists in the source.
  await exec(
    a.pool,
    sql`INSERT INTO passed_on (account_id, connection_id, kind, content) VALUES (${accountId}, 999, 'receipt', '[]')`,
  );
  const arrived = [{ connectionId: mainOfA, receipt: receipt('carrier-1'), receivedAt: new Date() }];
  await settleReceipts(a.pool, arrived, new Date());
  const pass = () => passOn({ source: a.pool, target: b.pool, cell: 1, onInbound: receiveIntoInbox });
  expect(await pass()).toBe(1);
  await processReceipts(b.pool, () => new Date());
  expect((await statesOf(b.pool, [id])).get(id)).toMatchObject({ status: STATUS.DELIVERED });
  await expect(pass()).rejects.toThrow(/lacks connections, add them there: the removed connection 999$/);
});

test('a cell that is away keeps nothing from accounts in other cells', async () => {
  await queue();
  const [id = ''] = await sendAll(a.pool, mainOfA, () => 'carrier-1');
  await move(a, b);
  const arrived = [{ connectionId: mainOfA, receipt: receipt('carrier-1'), receivedAt: new Date() }];
  await settleReceipts(a.pool, arrived, new Date());
  // Another account has left for a cell at whose address nobody answers; it is asked first.
  urls.set(0, 'postgres://nobody@127.0.0.1:9/none');
  const other = await createAccount(a.pool, { name: 'Other', plan: 'trial' });
  await exec(
    a.pool,
    sql`INSERT INTO account_move (account_id, state, cell, arrived_at) VALUES (${other.accountId}, 'left', 0, now())`,
  );
  await exec(
    a.pool,
    sql`INSERT INTO passed_on (account_id, connection_id, kind, content)
        VALUES (${other.accountId}, ${mainOfA}, 'receipt', '[]')`,
  );
  await expect(runTasks(a)).rejects.toThrow();
  await processReceipts(b.pool, () => new Date());
  expect((await statesOf(b.pool, [id])).get(id)).toMatchObject({ status: STATUS.DELIVERED });
});

test('what was kept during a move that was given up is taken where the account is', async () => {
  const { accountId } = account;
  await queue();
  const [id = ''] = await sendAll(a.pool, mainOfA, () => 'carrier-1');
  await freeze(a.pool, { accountId, cell: 1, hasDirectory: false, seconds: 60 });
  await settleReceipts(
    a.pool,
    [{ connectionId: mainOfA, receipt: receipt('carrier-1'), receivedAt: new Date() }],
    new Date(),
  );
  await undo({ source: a.pool, target: b.pool, directory: null }, accountId);
  await runTasks(a);
  await processReceipts(a.pool, () => new Date());
  expect((await statesOf(a.pool, [id])).get(id)).toMatchObject({ status: STATUS.DELIVERED });
});

test('a change of the credit during the copy makes it begin again', async () => {
  const { accountId } = account;
  await freeze(a.pool, { accountId, cell: 1, hasDirectory: false, seconds: 60 });
  const holder = await a.pool.connect();
  await holder.query('BEGIN');
  await holder.query(
    `UPDATE credit_balance SET available_micros = available_micros + 1 WHERE account_id = ${accountId}`,
  );
  const copying = carryWhole({ source: a, target: b, accountId, ids: await matchConnections(a.pool, b.pool) });
  copying.catch(() => undefined);
  await expect.poll(() => countLockWaits(a.pool)).toBe(1);
  await holder.query('COMMIT');
  holder.release();
  await expect(copying).rejects.toMatchObject({ code: '40001' });
});

test('nothing is in the way of cells that fit, and what differs is named', async () => {
  const between = { source: a, target: b, accountId: account.accountId };
  expect(await listObstacles(between)).toEqual([]);
  await insertConnection(a.pool, { name: 'second', kind: 'smpp', sandbox: false, settings: {} });
  await exec(a.pool, sql`INSERT INTO route (channel, connection_id) VALUES ('SMS', ${mainOfA})`);
  await exec(b.pool, sql`UPDATE price SET unit_micros = unit_micros + 1`);
  await createAccount(b.pool, { name: 'Acme', plan: 'trial' });
  await exec(
    a.pool,
    sql`INSERT INTO template (channel, id, name, status, content) VALUES ('RCS', 'welcome', 'Welcome', 'APPROVED', '{}')`,
  );
  expect(await listObstacles(between)).toEqual([
    'The target has no connection second of the kind smpp: add it.',
    expect.stringMatching(/^The routes differ: .*SMS \* main 100 hold/),
    expect.stringMatching(/^The prices differ: /),
    'The target lacks templates that all accounts share: add RCS welcome 99914b93.',
    'The target has the user acme already: remove or rename it there.',
  ]);
  expect(await listObstacles({ ...between, accountId: 77 })).toEqual(['Cell 0 has no account 77.']);
  expect(await listObstacles({ ...between, source: { ...a, number: 5 } })).toEqual([
    'The database of cell 5 says that it is cell 0: put CELL_DATABASES right.',
  ]);
});

test('an account that has left can be removed where it was, and one that is served cannot', async () => {
  await expect(removeAccount(a.pool, account.accountId)).rejects.toThrow('is served here');
  await transaction(a.pool, (tx) => topUp(tx, { accountId: account.accountId, micros: 1, reference: 'more' }));
  await move(a, b);
  await removeAccount(a.pool, account.accountId);
  expect((await measureAccount(a.pool, account.accountId)).rows).toBe(0);
  await admit(b.pool);
});

test('the rows in the source are kept for three days, while receipts may arrive, unless --now is given', async () => {
  const { accountId } = account;
  const finish = (evenIfRecent: boolean) => finishMove({ source: a.pool, target: b, accountId, evenIfRecent });
  await move(a, b);
  await expect(finish(false)).rejects.toThrow('receipts may arrive for three days');
  await exec(a.pool, sql`UPDATE account_move SET since = now() - interval '3 days'`);
  await finish(false);
  expect((await measureAccount(a.pool, accountId)).rows).toBe(0);
  await move(b, a);
  await finishMove({ source: b.pool, target: a, accountId, evenIfRecent: true });
  expect((await measureAccount(b.pool, accountId)).rows).toBe(0);
});

test('the rows in the source are kept when the target has lost its copy', async () => {
  const { accountId } = account;
  const finish = () => finishMove({ source: a.pool, target: b, accountId, evenIfRecent: true });
  await freeze(a.pool, { accountId, cell: 1, hasDirectory: false, seconds: 60 });
  await carryWhole({ source: a, target: b, accountId, ids: await matchConnections(a.pool, b.pool) });
  await expect(finish()).rejects.toThrow('has not arrived yet');
  // As after a restore of the target from an older backup.
  await removeAccount(b.pool, accountId);
  await expect(runTasks(a)).rejects.toThrow(`Cell 1 does not have the account ${accountId}`);
  await exec(a.pool, sql`UPDATE account_move SET arrived_at = now()`);
  await expect(finish()).rejects.toThrow('Cell 1 does not have the account');
  expect((await measureAccount(a.pool, accountId)).rows).toBeGreaterThan(0);
});
