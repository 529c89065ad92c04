import { afterAll, beforeEach, expect, test } from 'vitest';
import { openRoutes } from '../../test/support/http/routes.ts';
import { at, idAt, MINUTE, NOW } from '../../test/support/noon.ts';
import { explain } from '../../test/support/plans.ts';
import { crowdMessages, newMessage } from '../../test/support/queue.ts';
import { bitOf, CHANNELS } from '../core/channels.ts';
import { exec, sql } from '../core/db/query.ts';
import { tenant } from '../core/db/transaction.ts';
import { newId, timeOfId } from '../core/ids.ts';
import { STATUS, STATUS_NAMES } from '../core/message-state.ts';
import { insertMessages, type NewMessage } from '../messages/new-messages.ts';
import type { NewAccount } from '../operate/account-commands.ts';
import { idRangeOf } from './history.ts';
import { findScanEnd, historyRoutes, listFoundIds } from './history-routes.ts';

const { pool, otherAccount, newAccount, get, ...routes } = await openRoutes([historyRoutes], {
  deps: { clock: { now: () => NOW } },
});
afterAll(() => routes[Symbol.asyncDispose]());

let account: NewAccount;
beforeEach(async () => {
  account = await newAccount();
});

/** Stores a message of this minute and returns its id. */
async function store(minute: number, more: Partial<NewMessage> = {}, status?: number): Promise<string> {
  const message = newMessage({ accountId: account.accountId, id: idAt(minute), ...more });
  const { id, accountId, channel } = message;
  await insertMessages(pool, [message]);
  if (status !== undefined)
    await exec(
      pool,
      sql`INSERT INTO message_state (account_id, id, status, attempts, channel, updated_at)
          VALUES (${accountId}, ${id}, ${status}, 1, ${bitOf(channel)}, now())`,
    );
  return id;
}

type Found = { messageId: string; deliveryStatus: string; channel: string };
async function search(query: Record<string, string> = {}, key = account.apiKey) {
  const { status, body } = await get(`/messages?${new URLSearchParams(query)}`, key);
  return { status, body, ids: (body.data ?? []).map(({ messageId }: Found) => messageId) };
}

test('messages of all channels are listed with their texts, newest first', async () => {
  const old = await store(-60, { channel: 'RCS', source: 'INBOX', body: 'first' });
  const young = await store(-30, { clientId: 'ref-1', body: 'second', simulation: true }, STATUS.DELIVERED);
  const { body } = await search();
  expect(body).toMatchObject({
    data: [
      {
        messageId: young,
        customerMessageId: 'ref-1',
        deliveryStatus: 'DELIVERED',
        text: 'second',
        source: 'API',
        simulation: true,
        readAt: null,
        acceptedAt: timeOfId(young).toISOString(),
      },
      { messageId: old, channel: 'RCS', source: 'INBOX', text: 'first', simulation: false },
    ],
    next: null,
    searchedTo: new Date(NOW.getTime() - 7 * 1440 * MINUTE).toISOString(),
  });
});

test('each filter selects matching messages, and filters can be combined', async () => {
  const one = await store(-90, { destination: '+393331234567', sender: 'ACME', campaignId: 7, source: 'CAMPAIGN' });
  const two = await store(-80, { destination: '+351912345678', sender: 'SHOP', channel: 'WHATSAPP' });
  const cases: [Record<string, string>, string[]][] = [
    [{ channel: 'WHATSAPP' }, [two]],
    [{ destination: '333 12' }, [one]],
    [{ destination: '+351912345678' }, [two]],
    [{ sender: 'SHOP' }, [two]],
    [{ campaignId: '7' }, [one]],
    [{ source: 'CAMPAIGN' }, [one]],
    [{ source: 'API', destination: '333' }, []],
    [{ from: at(-85).toISOString() }, [two]],
    [{ to: at(-85).toISOString() }, [one]],
    [{ q: '0039 333' }, [one]],
  ];
  for (const [query, ids] of cases) expect((await search(query)).ids, JSON.stringify(query)).toEqual(ids);
});

test('a search term is an id of ours, a reference, or digits of a number', async () => {
  const id = await store(-70, { clientId: 'order 7', destination: '+393330000077' });
  await store(-60, { clientId: 'order 8' });
  expect((await search({ q: id.toUpperCase(), from: at(0).toISOString() })).ids).toEqual([id]);
  expect((await search({ q: ' order 7 ' })).ids).toEqual([id]);
  expect((await search({ q: '0000077' })).ids).toEqual([id]);
  expect((await search({ q: 'order' })).ids).toEqual([]);
  expect((await search({ q: newId() })).ids).toEqual([]);
});

test('the status filter matches the status in the record, on every channel', async () => {
  for (const [n, channel] of CHANNELS.entries()) {
    await store(-200 + n, { channel });
    for (const [k, name] of STATUS_NAMES.entries()) await store(-190 + n * 20 + k, { channel }, STATUS[name]);
  }
  const all: Found[] = (await search({ limit: '200' })).body.data;
  expect(all).toHaveLength(3 * (STATUS_NAMES.length + 1));
  for (const status of STATUS_NAMES)
    expect((await search({ status, limit: '200' })).ids, status).toEqual(
      all.filter(({ deliveryStatus }) => deliveryStatus === status).map(({ messageId }) => messageId),
    );
});

test('next leads to the end of the search without gaps or repeats', async () => {
  const stored: string[] = [];
  for (let n = 0; n < 7; n++) stored.push(await store(-50 + n));
  const walked: string[] = [];
  let before: string | null = null;
  do {
    const { body, ids }: Awaited<ReturnType<typeof search>> = await search({ limit: '3', ...(before && { before }) });
    walked.push(...ids);
    before = body.next;
  } while (before !== null);
  expect(walked).toEqual(stored.toReversed());
});

test('the next part of a range begins where the searched part ends', async () => {
  const { accountId } = account;
  const ids: string[] = [];
  for (let n = 0; n < 5; n++) ids.push(await store(-40 + n, { sender: n === 0 ? 'RARE' : 'ACME' }));
  const filter = { accountId, ...idRangeOf(at(-100), at(0)), sender: 'RARE' };
  const db = tenant(pool, account);
  expect(await listFoundIds(db, { ...filter, scan: 3, limit: 10 })).toEqual([]);
  const end = await findScanEnd(db, { ...filter, scan: 3 });
  expect(end).toBe(ids[2]);
  expect(await listFoundIds(db, { ...filter, endId: end ?? '', scan: 3, limit: 10 })).toEqual([ids[0]]);
  expect(await findScanEnd(db, { ...filter, scan: 6 })).toBeUndefined();
});

test('messages of other accounts are never found', async () => {
  const id = await store(-20, { clientId: 'mine' });
  for (const query of [{}, { q: id }, { q: 'mine' }, { before: newId() }])
    expect((await search(query, otherAccount.apiKey)).ids).toEqual([]);
});

test('a range that ends before it starts is empty', async () => {
  expect(await search({ from: at(10).toISOString(), to: at(0).toISOString() })).toMatchObject({
    status: 200,
    body: { data: [], next: null },
  });
});

test.each<[Record<string, string>, string[]]>([
  [{ channel: 'FAX', status: 'SENT', destination: 'abc', limit: '201' }, ['channel', 'destination', 'limit', 'status']],
  [{ from: '2026-02-30T00:00:00Z', to: '2026-02-31T00:00:00Z' }, ['from', 'to']],
  [{ before: 'x', campaignId: '0', source: 'X', q: 'x'.repeat(10_000) }, ['before', 'campaignId', 'q', 'source']],
])('%j is 400 and names every field at fault', async (query, fields) => {
  const { status, body } = await search(query);
  expect(status).toBe(400);
  expect(body.details.map(({ field }: { field: string }) => field).toSorted()).toEqual(fields);
});

test('a search reads the primary keys from their end and looks up states one by one', async () => {
  const { accountId } = account;
  await crowdMessages(pool);
  const filter = { accountId, ...idRangeOf(at(-600), at(600)), digits: '333', scan: 20_000, limit: 50 };
  for (const status of [undefined, 'DELIVERED', 'ACCEPTED'] as const) {
    const scans = await explain(tenant(pool, { accountId }), (db) => listFoundIds(db, { ...filter, status }));
    const tables = scans.filter(({ table }) => table?.startsWith('message'));
    expect(tables.length).toBeGreaterThan(0);
    for (const scan of tables) expect(scan.condition).toMatch(/account_id = .*\bid (=|>=) /);
  }
});
