import { afterAll, beforeAll, expect, test } from 'vitest';
import { openTestInbox, type TestInbox } from '../../test/support/http/inbox.ts';
import { exec, many, sql } from '../core/db/query.ts';
import { tenant } from '../core/db/transaction.ts';
import { createAccount } from '../operate/account-commands.ts';
import { searchMessages, toWordQuery } from './search.ts';

let inbox: TestInbox;
beforeAll(async () => {
  inbox = await openTestInbox();
});
afterAll(() => inbox[Symbol.asyncDispose]());

type Found = { message: { text: string }; conversation: { contact: { name: string } } };
async function find(search: string, { key = inbox.account.apiKey, limit = 20 } = {}) {
  const answer = await inbox.app.inject({
    url: `/api/partner-gateway/v1/inbox/messages?${new URLSearchParams({ search, limit: String(limit) })}`,
    headers: { 'x-api-key': key },
  });
  return { status: answer.statusCode, body: answer.json() as Found[] };
}
const textsFor = async (search: string): Promise<string[]> =>
  (await find(search)).body.map(({ message }) => message.text);

test('messages are found by the beginnings of all their words, the newest first, with their conversations', async () => {
  await inbox.write('My parcel is broken', { from: '393335000001' });
  await inbox.write('PARCELS arrive late, write to anna.rossi@example.com', { from: '393335000002' });
  await inbox.write('Città: è già arrivato?', { from: '393335000003' });
  const { status, body } = await find('parcel');
  expect(status).toBe(200);
  expect(body.map(({ message, conversation }) => [message.text.slice(0, 10), conversation.contact.name])).toEqual([
    ['PARCELS ar', '+393335000002'],
    ['My parcel ', '+393335000001'],
  ]);
  expect(await textsFor('broken, my')).toEqual(['My parcel is broken']);
  expect(await textsFor('rossi')).toHaveLength(1);
  expect(await textsFor('anna.rossi@example.com')).toHaveLength(1);
  expect(await textsFor('CITTÀ arriv')).toHaveLength(1);
  expect(await textsFor('parcel unheard')).toEqual([]);
  expect((await find('parcel', { limit: 1 })).body).toHaveLength(1);
});

test.each(["'", '!', '&|!():*', "x' | 'parcel", '\\', ':*', '--'])('%j is searched like any text', async (search) => {
  const { status, body } = await find(search);
  expect([status, body]).toEqual([200, []]);
});

test.each([
  ['заказ', 'ЗАКАЗ готов'],
  ['ÉTÉ', "un été à l'italienne"],
  ['straße', 'Hauptstraße, STRASSE, Straßen'],
  ['order4711 2e5', 'Order4711: 2e5'],
])('%j is found in %j, among the newest and by the index', async (search, text) => {
  await inbox.write(text);
  for (const limit of [1, 20]) expect((await find(search, { limit })).body).toHaveLength(1);
});

test('texts of another account are not found', async () => {
  const other = await createAccount(inbox.database.pool, { name: 'Other', plan: 'unlimited', ratePerMinute: 0 });
  await inbox.write('xylophone');
  expect((await find('xylophone', { key: other.apiKey })).body).toEqual([]);
  expect((await find('xylophone')).body).toHaveLength(1);
});

test('among many messages a rare word is found by the index, and a frequent one among the newest', async () => {
  const { pool } = inbox.database;
  const { accountId } = inbox.account;
  await exec(
    pool,
    sql`INSERT INTO inbox_message (account_id, chat_id, id, direction, message_type, text, at)
        SELECT ${accountId}::bigint, gen_random_uuid(), (lpad(to_hex(n), 8, '0') || '-0000-7000-8000-000000000000')::uuid, 'INBOUND', 'TEXT',
          'thanks number ' || n || CASE WHEN n = 7 THEN ' zebra' ELSE '' END, now()
        FROM generate_series(1, 20000) AS n`,
  );
  const db = tenant(pool, { accountId });
  const search = (word: string) => searchMessages(db, { accountId, words: toWordQuery(word) ?? '', limit: 20 });
  expect((await search('zebra')).map(({ id }) => id)).toEqual(['00000007-0000-7000-8000-000000000000']);
  const frequent = (await search('thanks')).map(({ id }) => id);
  expect(frequent).toHaveLength(20);
  expect(frequent).toEqual([...frequent].sort().reverse());
  await exec(pool, sql`ANALYZE inbox_message`);
  const plan = await many<Record<string, string>>(
    pool,
    sql`EXPLAIN SELECT m.id FROM inbox_message m WHERE m.account_id + 0 = ${accountId}
          AND inbox_words(m.account_id, fold_text(m.text)) @@ to_tsquery('simple', 'zebra')
        ORDER BY m.id DESC LIMIT 20`,
  );
  expect(JSON.stringify(plan)).toContain('inbox_message_words');
});
