import { beforeAll, expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import type { Db, Statement } from '../core/db/query.ts';
import { tenant } from '../core/db/transaction.ts';
import { createAccount } from '../operate/account-commands.ts';
import { findContacts, type ListQuery } from './read.ts';
import { countContacts, countSearchHits, listContacts, listSearchHits } from './store.ts';

const { pool } = testDatabase();

const CONTACTS = 20_000;

let accountId: number;
/** Creates two accounts with many contacts; unlike the names, every list of the first holds a hundredth of them. */
beforeAll(async () => {
  ({ accountId } = await createAccount(pool, { name: 'Acme', plan: 'unlimited' }));
  const other = await createAccount(pool, { name: 'Other', plan: 'unlimited' });
  for (const id of [accountId, other.accountId]) {
    await pool.query(
      `INSERT INTO contact (account_id, first_name, phone_number, is_valid, channels, gender, created_at)
       SELECT $1, md5(n::text), '+39333' || lpad(n::text, 7, '0'), true, 7, CASE WHEN n % 2 = 0 THEN 'MALE' END,
              timestamptz '2026-01-01T00:00:00Z' + n * interval '1 minute'
       FROM generate_series(1, $2::int) AS n`,
      [id, CONTACTS],
    );
    await pool.query(
      `INSERT INTO contact_list_member (account_id, list_id, contact_id, name_key)
       SELECT account_id, 1 + id % 100, id, lower(full_name) FROM contact WHERE account_id = $1`,
      [id],
    );
  }
  await pool.query('VACUUM ANALYZE contact, contact_list_member');
});

/** Returns the plan of the statement that `run` sends, as the tenant. */
async function planOf(run: (db: Db) => Promise<unknown>): Promise<string> {
  const db = tenant(pool, { accountId });
  const plan: string[] = [];
  const explaining: Db = {
    async query<R extends object>({ text, values }: Statement) {
      const explained = await db.query<{ 'QUERY PLAN': string }>({ text: `EXPLAIN ${text}`, values });
      plan.push(...explained.rows.map((row) => row['QUERY PLAN']));
      return db.query<R>({ text, values });
    },
  };
  await run(explaining);
  return plan.join('\n');
}

const order = (sortBy: ListQuery['order']['sortBy']): ListQuery['order'] => ({ sortBy, descending: false });
const page = (more: object = {}, sortBy: ListQuery['order']['sortBy'] = 'fullName') => ({
  filter: { accountId, ...more },
  order: order(sortBy),
  limit: 10,
  offset: 0,
});

test('a page by name is read in the order of the name index, without a sort of all contacts', async () => {
  const plan = await planOf((db) => listContacts(db, page()));
  expect(plan).toMatch(/Limit[\s\S]*Index Scan using contact_name on contact/);
});

test('a page of a list is read in the order of the index of that list', async () => {
  const plan = await planOf((db) => listContacts(db, page({ listGroups: [[5]] })));
  expect(plan).toMatch(/Index (Only )?Scan using contact_list_member_name/);
  expect(plan).not.toContain('Seq Scan');
});

test('a whole number and a whole e-mail address are looked up by their indexes', async () => {
  const byNumber = await planOf((db) => listContacts(db, page({ phoneNumber: '+393330000001' })));
  expect(byNumber).toContain('contact_person');
  const byEmail = await planOf((db) => listContacts(db, page({ email: 'a@example.com' })));
  expect(byEmail).toContain('contact_email');
});

test('contacts of a period are found and counted by their creation time', async () => {
  const day = { createdFrom: new Date('2026-01-05T00:00:00Z'), createdTo: new Date('2026-01-06T00:00:00Z') };
  const counted = await planOf((db) => countContacts(db, { filter: { accountId, ...day } }));
  expect(counted).toContain('Index Only Scan using contact_created');
  const later = { createdFrom: new Date('2027-01-01T00:00:00Z') };
  for (const sortBy of ['fullName', 'createdAt'] as const)
    expect(await planOf((db) => listContacts(db, page(later, sortBy)))).toContain('contact_created');
});

test('filtered contacts are counted in an index, without reading them', async () => {
  const plan = await planOf((db) => countContacts(db, { filter: { accountId, gender: 'MALE', isTest: false } }));
  expect(plan).toContain('Index Only Scan using contact_filter');
});

test('a search runs over the trigram index, though LIKE may not be pushed below row-level security', async () => {
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    await client.query(`SELECT set_config('app.account_id', $1, true)`, [String(accountId)]);
    await client.query("LOAD 'auto_explain'");
    await client.query(`SET LOCAL auto_explain.log_min_duration = 0`);
    await client.query(`SET LOCAL auto_explain.log_nested_statements = on`);
    await client.query(`SET LOCAL client_min_messages = log`);
    const notices: string[] = [];
    client.on('notice', (notice) => notices.push(notice.message ?? ''));
    await client.query(`SELECT search_contacts('%0001234%', 10)`);
    await client.query('ROLLBACK');
    expect(notices.join('\n')).toContain('Bitmap Index Scan on contact_search');
  } finally {
    client.release(true);
  }
});

test('a search finds the contacts of its own account only, and none without an account', async () => {
  const db = tenant(pool, { accountId });
  expect(await listSearchHits(db, { accountId, search: '0001234', limit: 10 })).toHaveLength(1);
  expect(await countSearchHits(db, { accountId, search: '+39333' })).toBe(CONTACTS);
  expect(await listSearchHits(pool, { accountId, search: '0001234', limit: 10 })).toEqual([]);
});

test('a page after the last hit has the total, and the search runs once', async () => {
  const db = tenant(pool, { accountId });
  const searches: string[] = [];
  const watching: Db = {
    query<R extends object>({ text, values }: Statement) {
      if (text.includes('search_contacts')) searches.push(text);
      return db.query<R>({ text, values });
    },
  };
  const filter = { accountId, search: '000123' };
  expect(await findContacts(watching, { ...page(), filter, offset: 20 })).toEqual({ rows: [], total: 11 });
  expect(searches).toHaveLength(1);
});

test('a search with too many hits to list has the same pages and the same total', async () => {
  const db = tenant(pool, { accountId });
  const all = await findContacts(db, page());
  const found = await findContacts(db, page({ search: '+39333' }));
  expect(found.rows.map(({ id }) => id)).toEqual(all.rows.map(({ id }) => id));
  expect(found.total).toBe(CONTACTS);
  const inList = await findContacts(db, page({ search: '+39333', listGroups: [[5]] }));
  expect(inList.total).toBe(CONTACTS / 100);
});
