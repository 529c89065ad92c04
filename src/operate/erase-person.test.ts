import { expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { newMessage } from '../../test/support/queue.ts';
import { type Db, exec, many, one, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { newId } from '../core/ids.ts';
import { tablesOfPerson } from '../exports/person-data.ts';
import { claimInboxes } from '../inbox/store.ts';
import { insertMessages } from '../messages/new-messages.ts';
import { readFeed } from '../webhooks/feed.ts';
import { publishFacts } from '../webhooks/outbox.ts';
import { createAccount } from './account-commands.ts';
import { countPerson, erasePerson } from './erase-person.ts';

const { pool } = testDatabase();
const ZOE = '+393331234567';
const OTHER = '+393331234568';

async function newAccount(name: string): Promise<number> {
  const { accountId } = await createAccount(pool, { name, plan: 'unlimited' });
  await exec(pool, sql`UPDATE account SET feed_since = now() - interval '1 day' WHERE id = ${accountId}`);
  await exec(
    pool,
    sql`INSERT INTO webhook_endpoint (account_id, url, form, secret, event_types, kinds)
        VALUES (${accountId}, 'https://example.com', 'V2', 'x', '{*}', '{consent.changed,contact.created,DELIVERY}')`,
  );
  return accountId;
}
const erase = (accountId: number, ...addresses: string[]) =>
  transaction(pool, (tx) => erasePerson(tx, { accountId, addresses: addresses.length > 0 ? addresses : [ZOE] }));

async function addContact(accountId: number, phoneNumber: string, fullName: string): Promise<number> {
  const { id } = await one<{ id: number }>(
    pool,
    sql`INSERT INTO contact (account_id, given_full_name, phone_number, is_valid, channels)
        VALUES (${accountId}, ${fullName}, ${phoneNumber}, true, 1) RETURNING id`,
  );
  await exec(pool, sql`UPDATE contact_book SET contacts = contacts + 1 WHERE account_id = ${accountId}`);
  return id;
}
const tellConsent = (accountId: number, phoneNumber: string) =>
  transaction(pool, (tx) =>
    publishFacts(tx, [
      {
        accountId,
        type: 'consent.changed',
        about: phoneNumber,
        data: { phoneNumber, channel: 'SMS', purpose: '*', sender: '*', state: 'OPTED_OUT', source: 'STOP' },
      },
    ]),
  );
async function addMessage(accountId: number, destination: string): Promise<string> {
  const message = newMessage({ accountId, destination, body: 'Hi' });
  await insertMessages(pool, [message]);
  return message.id;
}
const read = (accountId: number, after?: string) =>
  readFeed(pool, { accountId }, { after, limit: 1, types: null, showsAmounts: false, fileUrl: () => '' });

test('a person whose name is a common word takes nothing of others away', async () => {
  const accountId = await newAccount('words');
  await addContact(accountId, ZOE, 'channel');
  await addContact(accountId, OTHER, 'channel');
  await tellConsent(accountId, OTHER);
  await exec(
    pool,
    sql`INSERT INTO job (id, kind, account_id, payload, run_at)
        VALUES (${newId()}, 'inbox.auto-answer', ${accountId}, '{"chatId": "x", "text": "channel"}', now())`,
  );
  await exec(
    pool,
    sql`INSERT INTO campaign_draft (account_id, id, name, content, version)
        VALUES (${accountId}, ${newId()}, 'd', ${JSON.stringify({ name: 'channel', destinations: `${OTHER}\n+39 333-1234567` })}, 1)`,
  );
  const lists = sql`WITH l AS (INSERT INTO contact_list (account_id, name, contact_count) VALUES (${accountId}, 'l', 2) RETURNING id)
    INSERT INTO contact_list_member (account_id, list_id, contact_id, name_key)
    SELECT ${accountId}, l.id, c.id, 'channel' FROM l, contact c WHERE c.account_id = ${accountId}`;
  await exec(pool, lists);
  const counts = await erase(accountId);
  expect(counts).toEqual({ contact: 1, contact_list_member: 1, campaign_draft: 1 });
  expect(
    await many(pool, sql`SELECT contact_count AS contacts FROM contact_list WHERE account_id = ${accountId}`),
  ).toEqual([{ contacts: 1 }]);
  expect((await read(accountId)).events).toHaveLength(1);
  const [draft] = await many<{ content: object }>(
    pool,
    sql`SELECT content FROM campaign_draft WHERE account_id = ${accountId}`,
  );
  expect(draft?.content).toEqual({ name: 'channel', destinations: `${OTHER}\n0` });
});

test('a reader of the feed goes on from an event about an erased person', async () => {
  const accountId = await newAccount('feed');
  await tellConsent(accountId, ZOE);
  await tellConsent(accountId, OTHER);
  const { next, events } = await read(accountId);
  expect(events).toMatchObject([{ data: { phoneNumber: ZOE } }]);
  expect(await erase(accountId)).toMatchObject({ webhook_published: 1 });
  expect((await read(accountId, next ?? '')).events).toMatchObject([{ data: { phoneNumber: OTHER } }]);
  expect((await read(accountId)).events).toEqual([]);
});

test('an event about another contact with the same email address stays', async () => {
  const accountId = await newAccount('email');
  const email = 'family@example.com';
  const contacts = [await addContact(accountId, ZOE, 'Zoe'), await addContact(accountId, OTHER, 'Yan')];
  await exec(pool, sql`UPDATE contact SET email = ${email} WHERE account_id = ${accountId}`);
  await transaction(pool, (tx) =>
    publishFacts(
      tx,
      [ZOE, OTHER].map((phoneNumber, i) => ({
        accountId,
        type: 'contact.created' as const,
        about: contacts[i] ?? 0,
        data: { contactId: contacts[i] ?? 0, phoneNumber, email, fullName: null, firstName: null, lastName: null },
      })),
    ),
  );
  const { next } = await read(accountId);
  expect(await erase(accountId)).toMatchObject({ contact: 1, webhook_published: 1 });
  expect((await read(accountId, next ?? '')).events).toMatchObject([{ data: { phoneNumber: OTHER, email } }]);
  expect((await read(accountId)).events).toEqual([]);
});

test('the counts of an inbox are those of its conversations after an erasure', async () => {
  const accountId = await newAccount('inbox');
  for (const [peer, unread] of [
    [ZOE, 2],
    [OTHER, 0],
  ] as const)
    await exec(
      pool,
      sql`INSERT INTO conversation (account_id, chat_id, channel, peer, identity, unread, last_direction, last_type,
            last_text, last_at) VALUES (${accountId}, ${newId()}, 'SMS', ${peer}, '4400', ${unread}, 'INBOUND', 'TEXT', '', now())`,
    );
  await exec(
    pool,
    sql`INSERT INTO inbox_count (account_id, archived, channel, unread, conversations)
        VALUES (${accountId}, false, 'SMS', true, 1), (${accountId}, false, 'SMS', false, 1)`,
  );
  expect(await erase(accountId)).toEqual({ conversation: 1 });
  const counts = await many(
    pool,
    sql`SELECT unread, conversations FROM inbox_count WHERE account_id = ${accountId} ORDER BY unread`,
  );
  expect(counts).toEqual([
    { unread: false, conversations: 1 },
    { unread: true, conversations: 0 },
  ]);
});

test('events about the person are not tried again, and what waits behind one of another person becomes due', async () => {
  const accountId = await newAccount('retries');
  const messageId = await addMessage(accountId, ZOE);
  const [about, first, second] = [newId(), newId(), newId()];
  for (const [id, subject, data, dueAt] of [
    [newId(), messageId, null, new Date()],
    [first, about, { phoneNumber: ZOE }, new Date()],
    [second, about, { phoneNumber: OTHER }, null],
  ] as const) {
    await exec(
      pool,
      sql`INSERT INTO webhook_delivery (account_id, id, message_id, kind, at, state, attempts, data, endpoint)
          VALUES (${accountId}, ${id}, ${subject}, 'DELIVERY', now(), 'PENDING', 1, ${data && JSON.stringify(data)}::jsonb, 0)`,
    );
    await exec(
      pool,
      sql`INSERT INTO webhook_retry (account_id, id, message_id, due_at) VALUES (${accountId}, ${id}, ${subject}, ${dueAt})`,
    );
  }
  expect(await erase(accountId)).toMatchObject({ message: 1, webhook_delivery: 2 });
  const left = await many(
    pool,
    sql`SELECT id, due_at IS NOT NULL AS due FROM webhook_retry WHERE account_id = ${accountId}`,
  );
  expect(left).toEqual([{ id: second, due: true }]);
});

test('a bulk request to an erased person is not processed again', async () => {
  const accountId = await newAccount('bulk');
  const [theirs, others] = [await addMessage(accountId, ZOE), await addMessage(accountId, OTHER)];
  await exec(
    pool,
    sql`INSERT INTO bulk_request (account_id, global_id, body_hash, results)
        VALUES (${accountId}, 'b', 'x', ${JSON.stringify([
          [theirs, 200],
          [others, 200],
        ])})`,
  );
  expect(await erase(accountId)).toMatchObject({ bulk_request: 1 });
  const [row] = await many(pool, sql`SELECT results FROM bulk_request WHERE account_id = ${accountId}`);
  expect(row).toEqual({
    results: [
      [null, 403, 'the recipient was erased'],
      [others, 200],
    ],
  });
});

test('nothing of the person is left in imports, errors of events and submissions without an id', async () => {
  const accountId = await newAccount('rest');
  const id = await addMessage(accountId, ZOE);
  const other = await addMessage(accountId, OTHER);
  await exec(pool, sql`INSERT INTO nameless_submit VALUES (${accountId}, ${id}, 1, ${ZOE}, 'ACME', now())`);
  const { importId } = await one<{ importId: number }>(
    pool,
    sql`INSERT INTO contact_import (account_id, status, file_name, dry_run, author, columns, preview, cleaning, total)
        VALUES (${accountId}, 'RUNNING', 'f.csv', false, '{}', '[]', '[["333 123 4567"]]', '{"groups":[{"samples":["333 123 4567"]}],"changes":[]}', 2)
        RETURNING id AS "importId"`,
  );
  await exec(pool, sql`INSERT INTO contact_import_chunk VALUES (${accountId}, ${importId}, 0, ${Buffer.from(ZOE)})`);
  await exec(
    pool,
    sql`INSERT INTO contact_import_reject VALUES (${accountId}, ${importId}, 1, '[]', '["333 123 4567"]')`,
  );
  await exec(
    pool,
    sql`INSERT INTO job (id, kind, key, account_id, payload, run_at)
        VALUES (${newId()}, 'contact.import', ${String(importId)}, ${accountId}, '{}', now())`,
  );
  const errors = sql`'DELIVERY', ${[id, other]}::uuid[], ARRAY[now(), now()], ARRAY['no ' || ${ZOE}::text, 'no route']`;
  await exec(
    pool,
    sql`INSERT INTO webhook_outbox (account_id, kind, message_ids, at, errors) SELECT ${accountId}, ${errors}`,
  );
  await exec(
    pool,
    sql`INSERT INTO webhook_published (account_id, id, kind, message_ids, at, errors) SELECT ${accountId}, ${newId()}, ${errors}`,
  );
  expect(await erase(accountId)).toEqual({
    contact_import: 1,
    contact_import_chunk: 1,
    contact_import_reject: 1,
    message: 1,
    nameless_submit: 1,
    webhook_outbox: 1,
    webhook_published: 1,
  });
  const [row] = await many(
    pool,
    sql`SELECT i.status, i.preview, i.cleaning, n.destination, o.errors AS waiting, p.errors AS fed,
          (SELECT count(*) FROM job WHERE account_id = ${accountId}) AS jobs
        FROM contact_import i, nameless_submit n, webhook_outbox o, webhook_published p
        WHERE i.account_id = ${accountId} AND n.account_id = ${accountId} AND o.account_id = ${accountId}
          AND p.account_id = ${accountId}`,
  );
  expect(row).toEqual({
    status: 'FAILED',
    preview: [],
    cleaning: { groups: [], changes: [] },
    destination: '',
    waiting: [null, 'no route'],
    fed: [null, 'no route'],
    jobs: 0,
  });
});

test('a number that a campaign has without its country code, or with 00, is erased, and that of another person stays', async () => {
  const accountId = await newAccount('national');
  await exec(
    pool,
    sql`INSERT INTO campaign (account_id, name, status, sending_mode, destination_type, destinations, numbers,
          number_countries, number_channels)
        VALUES (${accountId}, 'c', 0, 'SMS', 2, ${['333 123 4567', '0039 333-1234567', '333 1234568', '+33 312 345 67']}::text[],
          ${[ZOE, OTHER]}::text[], '{IT,IT}', '{1,1}')`,
  );
  expect(await erase(accountId)).toEqual({ campaign: 1 });
  const [row] = await many(pool, sql`SELECT destinations, numbers FROM campaign WHERE account_id = ${accountId}`);
  expect(row).toEqual({ destinations: ['333 1234568', '+33 312 345 67'], numbers: [OTHER] });
});

test('a draft loses a number with 00 or without its country code, and keeps those of others', async () => {
  const accountId = await newAccount('drafts');
  const others = ['3331234568', '+33 333 1234567', '0044 333 123 4567', '33312345670', '1333 1234567'];
  const theirs = ['0039333 1234567', '00 39 (333) 1234567', '333-123 4567', '0333 1234567'];
  const store = async (numbers: readonly string[]) =>
    exec(
      pool,
      sql`INSERT INTO campaign_draft (account_id, id, name, content, version)
          VALUES (${accountId}, ${newId()}, 'd', ${JSON.stringify({ destinations: numbers.join('\n') })}, 1)`,
    );
  await store([...theirs, ...others]);
  expect(await erase(accountId)).toEqual({ campaign_draft: 1 });
  const drafts = await many(pool, sql`SELECT content FROM campaign_draft WHERE account_id = ${accountId}`);
  expect(drafts).toEqual([{ content: { destinations: ['0', '0', '0', '0', ...others].join('\n') } }]);
});

test('counting what would be erased waits for no one, and changes nothing', async () => {
  const accountId = await newAccount('dry');
  await addContact(accountId, ZOE, 'Zoe');
  await tellConsent(accountId, ZOE);
  await transaction(pool, async (tx) => {
    await claimInboxes(tx, { accountIds: [accountId] });
    await exec(tx, sql`SELECT FROM contact WHERE account_id = ${accountId} FOR UPDATE`);
    expect(await countPerson(pool, { accountId, addresses: [ZOE] })).toEqual({
      contact: 1,
      webhook_outbox: 1,
      webhook_published: 1,
    });
  });
  expect((await read(accountId)).events).toHaveLength(1);
});

test('all that has to be read as a whole is read before an inbox, the contacts and the feed are claimed', async () => {
  const accountId = await newAccount('order');
  await tellConsent(accountId, ZOE);
  const texts: string[] = [];
  await transaction(pool, (tx) => {
    const query: Db['query'] = (statement) => {
      texts.push(statement.text);
      return tx.query(statement);
    };
    return erasePerson({ query }, { accountId, addresses: [ZOE] });
  });
  const firstWith = (text: string): number => texts.findIndex((one) => one.includes(text));
  const claimed = firstWith('INSERT INTO inbox AS');
  expect(claimed).toBeGreaterThan(0);
  for (const scan of ['FROM webhook_published AS t', 'FROM webhook_delivery AS t', 'UPDATE campaign_recipient AS t']) {
    expect(firstWith(scan)).toBeGreaterThan(0);
    expect(firstWith(scan)).toBeLessThan(claimed);
  }
  // What is read again afterwards begins with an id.
  for (const later of texts
    .slice(claimed)
    .filter((one) => /FROM (webhook_|message )/.test(one) && !one.startsWith('DELETE')))
    expect(later).toMatch(/id >= |id = ANY/);
  expect(texts.at(-1)).toContain('UPDATE webhook_published AS t');
});

/** Columns that hold addresses of persons. */
const ADDRESSES = [
  'alias',
  'destination',
  'destinations',
  'first_destination',
  'number',
  'numbers',
  'peer',
  'person',
  'phone_number',
  'source',
];
/** Tables that have such a column, and nothing about a person of one account alone. */
const OTHERS: Readonly<Record<string, string>> = {
  inbound_number: 'a number of the account',
  inbound_part: 'of all accounts, until the other parts have come',
  keyword_rule: 'a number of the account',
  number_network: 'of all accounts',
  number_pool_number: 'a number of the gateway',
  portfolio_person: 'of all accounts',
};

test('every table with an address of a person is among those that an erasure reaches', async () => {
  const nobody = {
    accountId: 0,
    forms: [],
    bare: [],
    messageIds: [],
    inboundIds: [],
    chatIds: [],
    contactIds: [],
    verificationIds: [],
    emails: [],
  };
  const reached = new Set(tablesOfPerson(nobody).map(({ table }) => table));
  const found = await many<{ name: string }>(
    pool,
    sql`SELECT DISTINCT c.relname::text AS name FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
        WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
          AND NOT a.attisdropped AND a.attname = ANY(${ADDRESSES}::text[]) AND a.atttypid IN ('text'::regtype, 'text[]'::regtype)
          AND NOT (c.relname = 'message' AND a.attname = 'source')
        ORDER BY 1`,
  );
  const missing = found.flatMap(({ name }) => (reached.has(name) || name in OTHERS ? [] : [name]));
  expect(missing).toEqual([]);
  const tables = await many<{ name: string }>(
    pool,
    sql`SELECT relname::text AS name FROM pg_class WHERE relnamespace = current_schema()::regnamespace`,
  );
  const existing = new Set(tables.map(({ name }) => name));
  expect([...reached].filter((name) => !existing.has(name))).toEqual([]);
});
