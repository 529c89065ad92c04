import { afterAll, expect, test } from 'vitest';
import { openRoutes, PG } from '../../test/support/http/routes.ts';
import { standbyReports } from '../../test/support/http/standby.ts';
import { at, idAt, MINUTE, NOW } from '../../test/support/noon.ts';
import { explain } from '../../test/support/plans.ts';
import { crowdMessages, newMessage } from '../../test/support/queue.ts';
import { bitOf, CHANNELS, type Channel } from '../core/channels.ts';
import { ensurePartitions } from '../core/db/partitions.ts';
import { exec, sql } from '../core/db/query.ts';
import { tenant } from '../core/db/transaction.ts';
import { STATUS, STATUS_NAMES } from '../core/message-state.ts';
import { insertMessages } from '../messages/new-messages.ts';
import { idRangeOf, listHistoryIds } from './history.ts';
import { historyRoutes } from './history-routes.ts';

const { pool, account, otherAccount, get, ...routes } = await openRoutes([historyRoutes], {
  deps: { clock: { now: () => NOW }, reports: standbyReports(() => pool) },
});
afterAll(() => routes[Symbol.asyncDispose]());

type Stored = { readonly channel?: Channel; readonly accountId?: number; readonly status?: number };

/** Stores one message per minute from a minute on, and returns the ids in order. Without a status they are queued. */
async function store(from: number, count: number, { status, ...more }: Stored = {}): Promise<string[]> {
  const accountId = more.accountId ?? account.accountId;
  const messages = Array.from({ length: count }, (_, n) => newMessage({ accountId, ...more, id: idAt(from + n) }));
  await insertMessages(pool, messages);
  const ids = messages.map(({ id }) => id);
  if (status === undefined) {
    await exec(
      pool,
      sql`INSERT INTO dispatch_chunk (account_id, connection_id, priority, round, size, ids)
          VALUES (${accountId}, 1, 0, 1, ${count}, ${ids}::uuid[])`,
    );
    return ids;
  }
  await exec(
    pool,
    sql`INSERT INTO message_state (account_id, id, status, attempts, channel, updated_at)
        SELECT ${accountId}, m.id, ${status}, 1, ${bitOf(more.channel ?? 'SMS')}, now()
        FROM message m WHERE m.id = ANY(${ids}::uuid[])`,
  );
  return ids;
}

type Answer = { status: number; ids: string[]; body: unknown };
async function history(query: Record<string, string>, key?: string): Promise<Answer> {
  const { status, body } = await get(`/messages/history?${new URLSearchParams(query)}`, key);
  const ids = Array.isArray(body) ? body.map((record: { messageId: string }) => record.messageId) : [];
  return { status, ids, body };
}
const minutes = (from: number, to: number, more: Record<string, string> = {}) => ({
  channel: 'SMS',
  from: at(from).toISOString(),
  to: at(to).toISOString(),
  ...more,
});

test('the messages of a range are listed as records, newest first, with both ends included', async () => {
  const ids = await store(-600, 5);
  const { body, ids: found } = await history(minutes(-599, -597));
  expect(found).toEqual([ids[3], ids[2], ids[1]]);
  expect(body).toMatchObject([{ messageId: ids[3], channel: 'SMS', deliveryStatus: 'ACCEPTED', parts: 1 }, {}, {}]);
});

test('only messages of the requested channel and of the account are listed', async () => {
  const own = await store(-500, 2, { channel: 'RCS' });
  await store(-500, 2, { channel: 'WHATSAPP' });
  await store(-500, 2, { channel: 'RCS', accountId: otherAccount.accountId });
  const asked = minutes(-510, -490, { channel: 'RCS' });
  expect((await history(asked)).ids).toEqual(own.toReversed());
  expect((await history(asked, otherAccount.apiKey)).ids).toHaveLength(2);
});

test('pages follow one another without gaps, whether or not earlier pages were read', async () => {
  const ids = (await store(-400, 47)).toReversed();
  const page = (n: number) => history(minutes(-400, -350, { page: String(n), limit: '10' }));
  const last = await page(3);
  const walked = [];
  for (let n = 0; n < 6; n++) walked.push((await page(n)).ids);
  expect(walked.flat()).toEqual(ids);
  expect(walked.map((list) => list.length)).toEqual([10, 10, 10, 10, 7, 0]);
  expect(last.ids).toEqual(walked[3]);
  expect((await page(3)).ids).toEqual(walked[3]);
});

test('pages of a range that is not over include what has arrived in the meantime', async () => {
  const ids = await store(540, 4);
  const page = (n: number) => history(minutes(540, 700, { page: String(n), limit: '2' }));
  expect((await page(0)).ids).toEqual([ids[3], ids[2]]);
  const [newer] = await store(550, 1);
  expect((await page(1)).ids).toEqual([ids[2], ids[1]]);
  expect((await page(0)).ids).toEqual([newer, ids[3]]);
});

test('a page has twenty entries by default', async () => {
  await store(-300, 25);
  expect((await history(minutes(-300, -270))).ids).toHaveLength(20);
});

test('the status filter finds exactly those whose record has that status, on every channel', async () => {
  for (const [n, channel] of CHANNELS.entries()) {
    const from = -200 + n * 50;
    await store(from, 2, { channel });
    for (const [k, name] of STATUS_NAMES.entries()) await store(from + 5 + k, 1, { channel, status: STATUS[name] });
    const all = await history(minutes(from, from + 49, { channel, limit: '1000' }));
    const records = all.body as { messageId: string; deliveryStatus: string }[];
    for (const status of STATUS_NAMES) {
      const expected = records.filter((r) => r.deliveryStatus === status).map((r) => r.messageId);
      expect((await history(minutes(from, from + 49, { channel, status }))).ids, `${channel} ${status}`).toEqual(
        expected,
      );
    }
    expect(records).toHaveLength(2 + STATUS_NAMES.length);
  }
});

test('pages by status are slices of the whole list, whether the status is frequent, rare or absent', async () => {
  const { accountId, apiKey } = await routes.newAccount();
  for (const day of [-8, -3, 0]) {
    await ensurePartitions(pool, at(day * 24 * 60));
    for (const [n, status] of [3, 3, 5, 3, 3, 6, 3].entries())
      await store(day * 24 * 60 - 30 + n * 4, 1, { accountId, status });
  }
  for (const status of ['DELIVERED', 'DELETED', 'UNDELIVERABLE', 'REJECTED']) {
    const range = minutes(-14 * 24 * 60, 10, { status });
    const { ids } = await history({ ...range, limit: '1000' }, apiKey);
    expect(ids).toHaveLength({ DELIVERED: 15, DELETED: 3, UNDELIVERABLE: 3 }[status] ?? 0);
    expect(ids).toEqual(ids.toSorted().toReversed());
    for (const limit of [1, 2, 4])
      for (let page = 0; page * limit <= ids.length; page++) {
        const part = await history({ ...range, limit: String(limit), page: String(page) }, apiKey);
        expect(part.ids, `${status}, page ${page} of ${limit}`).toEqual(ids.slice(page * limit, (page + 1) * limit));
      }
  }
});

test('queued messages found through the queue are those found among the messages', async () => {
  const ids = await store(320, 3);
  const { accountId } = account;
  const find = (queued: 'in queue' | 'among messages') =>
    listHistoryIds(pool, {
      accountId,
      channel: 'SMS',
      ...idRangeOf(at(321), at(330)),
      limit: 10,
      offset: 0,
      status: { codes: [STATUS.ACCEPTED], queued },
    });
  expect(await find('in queue')).toEqual([ids[2], ids[1]]);
  expect(await find('among messages')).toEqual([ids[2], ids[1]]);
});

test('a range that ends before it starts, or lies before all ids, has no messages', async () => {
  await store(0, 1);
  expect(await history(minutes(10, -10))).toMatchObject({ status: 200, body: [] });
  const early = { channel: 'SMS', from: '1900-01-01T00:00:00Z', to: '1969-12-31T23:59:59Z' };
  expect((await history(early)).ids).toEqual([]);
  expect((await history({ ...early, from: '0001-01-01T00:00:00Z', to: '9999-12-31T23:59:59Z' })).status).toBe(200);
});

test('times may have any offset, even if its plus sign was not encoded', async () => {
  const [id] = await store(300, 1);
  const local = new Date(at(300).getTime() + 2 * 60 * MINUTE).toISOString().replace('Z', '');
  const asked = { channel: 'SMS', from: `${local}+02:00`, to: `${local} 02:00` };
  expect((await history(asked)).ids).toEqual([id]);
});

test.each<[Record<string, string>, string[]]>([
  [{}, ['channel', 'from', 'to']],
  [{ channel: 'FAX', from: '2026-11-21T00:00:00', to: '2026-11-21' }, ['channel', 'from', 'to']],
  [{ channel: 'SMS', from: '2026-02-30T00:00:00Z', to: '2026-02-31T00:00:00Z' }, ['from', 'to']],
  [{ ...minutes(0, 1), status: 'SENT', page: '-1', limit: '1001' }, ['limit', 'page', 'status']],
])('%j is 400 and names every field at fault', async (query, fields) => {
  const { status, body } = await history(query);
  expect(status).toBe(400);
  const { details } = body as { details: { field: string }[] };
  expect(details.map(({ field }) => field).sort()).toEqual(fields);
});

test('pages are read from the primary keys of their days, whatever else is in the tables', async () => {
  const { accountId } = account;
  await crowdMessages(pool);
  const filter = { accountId, channel: 'SMS' as const, ...idRangeOf(at(-600), at(600)), limit: 20, offset: 40 };
  for (const status of [
    undefined,
    { codes: [3], queued: 'none' },
    { codes: [0, 1], queued: 'in queue' },
    { codes: [1], queued: 'among messages' },
  ] as const) {
    const asked = { ...filter, status };
    const scans = await explain(tenant(pool, { accountId }), (db) => listHistoryIds(db, asked));
    expect(scans.length).toBeGreaterThan(0);
    const ofDays = scans.filter(({ table }) => table?.startsWith('message'));
    const others = ofDays.filter(({ how, index }) => how === 'Seq Scan' || index?.endsWith('pkey') === false);
    expect(others).toEqual([]);
  }
});

test('a range that has ended may be read from a standby, and says how old it is; a recent one is up to date', async () => {
  const ageOf = async (to: Date): Promise<unknown> => {
    const query = new URLSearchParams({ channel: 'SMS', from: at(0).toISOString(), to: to.toISOString() });
    const url = `${PG}/messages/history?${query}`;
    return (await routes.app.inject({ url, headers: { 'x-api-key': account.apiKey } })).headers['x-data-age'];
  };
  expect(await ageOf(new Date(NOW.getTime() - 6 * MINUTE))).toBe('0.250');
  expect(await ageOf(new Date(NOW.getTime() - 4 * MINUTE))).toBeUndefined();
});
