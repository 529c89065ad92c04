import { afterAll, describe, expect, test } from 'vitest';
import { openRoutes, PG } from '../../test/support/http/routes.ts';
import { apiKeyRoutes } from '../accounts/api-key-routes.ts';
import { listAuditEntries } from '../accounts/audit.ts';
import { SCOPES } from '../core/actor.ts';
import { many, one, sql } from '../core/db/query.ts';
import { parsePhone } from '../core/phone.ts';
import type { NewAccount } from '../operate/account-commands.ts';
import { updateContactCount } from './limits.ts';
import { listRoutes } from './list-routes.ts';
import { findList } from './lists.ts';
import { newContact } from './read.ts';
import { contactRoutes } from './routes.ts';
import { insertContacts } from './store.ts';

let made = 0;
const { pool, app, account, otherAccount, newAccount, call, ...routes } = await openRoutes(
  [apiKeyRoutes, listRoutes, contactRoutes],
  {
    base: `${PG}/contacts`,
  },
);
afterAll(() => routes[Symbol.asyncDispose]());

const list = async (body: object = {}, key?: string) =>
  (await call('POST', '/list', { name: `List ${made++}`, ...body }, key)).body;
const contact = async (key?: string): Promise<number> =>
  (await call('POST', '', { phoneNumber: `+39333${1_000_000 + made++}` }, key)).body.id;
const countOf = async (id: number, key?: string) =>
  (await call('GET', `/list/${id}`, undefined, key)).body.contactCount;
const versionOf = async (id: number) => (await findList(pool, { accountId: account.accountId, id }))?.version;

/** Inserts directly into the database: a request for each contact would take a minute. */
async function manyContacts({ accountId }: NewAccount, count: number): Promise<void> {
  const row = newContact(parsePhone('+46701740605'));
  const rows = Array.from({ length: count }, (_, n) => ({ ...row, phoneNumber: `+4670${1_000_000 + n}` }));
  await insertContacts(pool, { accountId, rows });
  await updateContactCount(pool, { accountId, by: count });
}

describe('lists', () => {
  test('are created with 201, read and partly changed, and their changes are in the audit log', async () => {
    const { status, body } = await call('POST', '/list', { name: ' Spring ', description: 'Sale', isTest: true });
    const expected = {
      id: body.id,
      name: 'Spring',
      description: 'Sale',
      isTest: true,
      contactCount: 0,
      deletedAt: null,
    };
    expect([status, body]).toEqual([201, { ...expected, createdAt: expect.stringMatching(/Z$/) }]);
    expect((await call('GET', `/list/${body.id}`)).body).toEqual(body);
    const changed = await call('PUT', `/list/${body.id}`, { name: 'Summer' });
    expect([changed.status, changed.body]).toEqual([200, { ...body, name: 'Summer' }]);
    expect((await list({ description: null })).description).toBe('');
    expect(
      (await call('PUT', `/list/${(await list({ description: 'Old' })).id}`, { description: null })).body.description,
    ).toBe('');
    const entries = await listAuditEntries(pool, {
      accountId: account.accountId,
      action: null,
      subject: `contact-list:${body.id}`,
      fromId: null,
      toId: null,
      limit: 10,
      offset: 0,
    });
    expect(entries.map((entry) => entry.action)).toEqual(['contact-list.update', 'contact-list.create']);
  });

  test('every faulty field is reported, including a name of blanks', async () => {
    const wrong = { name: ' ', isTest: 'yes', description: 5 };
    const { id } = await list();
    for (const answer of [await call('POST', '/list', wrong), await call('PUT', `/list/${id}`, wrong)])
      expect(answer).toMatchObject({
        status: 400,
        body: { details: [{ field: 'name' }, { field: 'description' }, { field: 'isTest' }] },
      });
  });

  test.for([{}, { name: '' }, { name: '  ' }, { name: 5 }, { name: 'n'.repeat(201) }])('%j is 400', async (body) => {
    const answer = await call('POST', '/list', body);
    expect([answer.status, answer.body.details[0].field]).toEqual([400, 'name']);
  });

  test('are found by part of the name, id, contact and kind, in order and pages', async () => {
    const own = await newAccount();
    const key = own.apiKey;
    const a = await list({ name: 'alpha 100%' }, key);
    const b = await list({ name: 'Beta', isTest: true }, key);
    const c = await list({ name: 'gamma' }, key);
    const id = await contact(key);
    await call('POST', '/list/contacts', { listIds: [c.id], contactIds: [id] }, key);
    const found = async (query: string) => {
      const { status, body } = await call('GET', `/list?${query}`, undefined, key);
      expect([status, body.total]).toEqual([200, expect.any(Number)]);
      return body.data.map((each: { id: number }) => each.id);
    };
    expect(await found('')).toEqual([a.id, b.id, c.id]);
    expect(await found('sortOrder=desc')).toEqual([c.id, b.id, a.id]);
    expect(await found('sortBy=contactCount&sortOrder=desc')).toEqual([c.id, b.id, a.id]);
    expect(await found('sortBy=createdAt')).toEqual([a.id, b.id, c.id]);
    expect(await found('search=BET')).toEqual([b.id]);
    expect(await found('search=%25')).toEqual([a.id]);
    expect(await found(`id=${a.id},${c.id}`)).toEqual([a.id, c.id]);
    expect(await found('isTest=true')).toEqual([b.id]);
    expect(await found(`contactIds=${id}`)).toEqual([c.id]);
    expect(await found('limit=1&page=2')).toEqual([c.id]);
    for (const query of ['sortBy=color', 'id=x', 'contactIds=x', 'limit=0', 'isTest=2'])
      expect((await call('GET', `/list?${query}`, undefined, key)).status, query).toBe(400);
  });

  test('are deleted softly, with their associations and without their contacts', async () => {
    const [first, second] = [await list(), await list()];
    const id = await contact();
    await call('POST', '/list/contacts', { listIds: [first.id, second.id], contactIds: [id] });
    const foreign = await list({}, otherAccount.apiKey);
    expect((await call('DELETE', `/list?ids=${first.id},${foreign.id},${first.id}`)).body).toEqual({
      deleted: 1,
      notFound: [foreign.id],
    });
    expect((await call('GET', `/list/${first.id}`)).status).toBe(404);
    expect((await call('PUT', `/list/${first.id}`, { name: 'x' })).status).toBe(404);
    expect((await call('GET', `/list/${first.id}/contacts`)).status).toBe(404);
    const shown = (await call('GET', `/list/${first.id}?includeDeleted=true`)).body;
    expect(shown).toMatchObject({ contactCount: 0, deletedAt: expect.stringMatching(/Z$/) });
    expect((await call('GET', `/list?id=${first.id}&includeDeleted=true`)).body.total).toBe(1);
    expect((await call('GET', `/list?id=${first.id}`)).body.total).toBe(0);
    expect((await call('DELETE', `/list?ids=${first.id}`)).body).toEqual({ deleted: 0, notFound: [first.id] });
    expect([(await call('GET', `/${id}`)).status, await countOf(second.id)]).toEqual([200, 1]);
    expect(await countOf(foreign.id, otherAccount.apiKey)).toBe(0);
  });
});

describe('associations', () => {
  test('are created once: existing ones keep their ids, and the version of the list shows a change', async () => {
    const { id } = await list();
    const [a, b] = [await contact(), await contact()];
    const added = await call('POST', '/list/contacts', { listIds: [id, id], contactIds: [a, a] });
    const association = { id: expect.any(Number), listId: id, contactId: a, created: true };
    expect([added.status, added.body]).toEqual([
      201,
      { ids: [added.body.associations[0].id], associations: [association], created: 1, existing: 0 },
    ]);
    const version = await versionOf(id);
    const again = await call('POST', '/list/contacts', { listIds: [id], contactIds: [a] });
    const old = { ...added.body.associations[0], created: false };
    const first = { ids: added.body.ids, associations: [old], created: 0, existing: 1 };
    expect([again.body, await versionOf(id)]).toEqual([first, version]);
    const more = await call('POST', '/list/contacts', { listIds: [id], contactIds: [b, a] });
    const both = [old, { ...association, contactId: b }];
    expect(more.body).toEqual({ ids: [old.id, expect.any(Number)], associations: both, created: 1, existing: 1 });
    const listed = (await call('GET', `/list/${id}/contacts`)).body.data;
    expect(listed.map((entry: { associationId: number }) => entry.associationId).toSorted()).toEqual(
      more.body.ids.toSorted(),
    );
    expect([await countOf(id), await versionOf(id)]).toEqual([2, (version ?? 0) + 1]);
  });

  test('with unknown lists or contacts, or those of another account, are 400 naming all of them, and nothing is done', async () => {
    const [mine, foreignList] = [await list(), await list({}, otherAccount.apiKey)];
    const [own, foreign] = [await contact(), await contact(otherAccount.apiKey)];
    const { status, body } = await call('POST', '/list/contacts', {
      listIds: [mine.id, foreignList.id],
      contactIds: [own, foreign, 999_999_999],
    });
    expect([status, body.details]).toEqual([
      400,
      [
        { field: 'listIds', message: `unknown: ${foreignList.id}` },
        { field: 'contactIds', message: `unknown: ${[foreign, 999_999_999].sort((x, y) => x - y).join(', ')}` },
      ],
    ]);
    expect([await countOf(mine.id), await countOf(foreignList.id, otherAccount.apiKey)]).toEqual([0, 0]);
  });

  test.for([
    ['listIds', {}],
    ['listIds', { listIds: [], allContacts: true }],
    ['contactIds', { listIds: [1] }],
    ['contactIds', { listIds: [1], contactIds: [] }],
    ['contactIds', { listIds: [1], allContacts: false, excludeIdsAllContacts: [1] }],
    ['contactIds[0]', { listIds: [1], contactIds: ['1'] }],
    ['allContacts', { listIds: [1], allContacts: 'true' }],
    ['contactIds', { listIds: ['1'] }],
    ['listIds', { listIds: ['1'] }],
  ] as const)('without a %s they are 400, to add and to remove', async ([field, body]) => {
    for (const method of ['POST', 'DELETE'] as const) {
      const answer = await call(method, '/list/contacts', body);
      expect([answer.status, answer.body.details.map((d: { field: string }) => d.field)]).toEqual([
        400,
        expect.arrayContaining([expect.stringContaining(field)]),
      ]);
    }
  });

  test('are deleted by their id, once', async () => {
    const { id } = await list();
    const added = await call('POST', '/list/contacts', { listIds: [id], contactIds: [await contact()] });
    const path = `/list/contacts/${added.body.ids[0]}`;
    expect((await call('DELETE', path, undefined, otherAccount.apiKey)).status).toBe(404);
    const answers = await Promise.all([call('DELETE', path), call('DELETE', path), call('DELETE', path)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 404, 404]);
    expect(answers.find(({ status }) => status === 200)?.body).toEqual({ deleted: 1, notFound: [] });
    expect(await countOf(id)).toBe(0);
  });

  test('are removed by contacts; contacts in none of the lists are reported', async () => {
    const [first, second] = [await list(), await list()];
    const [a, b, out] = [await contact(), await contact(), await contact()];
    await call('POST', '/list/contacts', { listIds: [first.id, second.id], contactIds: [a, b] });
    const body = { listIds: [first.id, second.id], contactIds: [a, out, 999_999_999] };
    expect(await call('DELETE', '/list/contacts', body)).toEqual({
      status: 200,
      body: { deleted: 2, notFound: [out, 999_999_999] },
    });
    expect([await countOf(first.id), await countOf(second.id)]).toEqual([1, 1]);
    expect((await call('DELETE', '/list/contacts', { ...body, listIds: [999_999_999] })).status).toBe(400);
    expect((await call('GET', `/${a}`)).status).toBe(200);
  });

  test('of all contacts except some are created and removed; above 10,000 they are counted instead of listed', async () => {
    const own = await newAccount();
    const key = own.apiKey;
    await manyContacts(own, 10_000);
    const last = await contact(key);
    const [first, second] = [await list({}, key), await list({}, key)];
    const all = (method: 'POST' | 'DELETE', more: object = {}) =>
      call(method, '/list/contacts', { listIds: [first.id], allContacts: true, contactIds: [7], ...more }, key);
    const named = await all('POST', { excludeIdsAllContacts: [last] });
    expect([named.status, named.body.ids.length, named.body.created]).toEqual([201, 10_000, 10_000]);
    expect((await all('POST')).body).toEqual({ count: 10_001, created: 1, existing: 10_000 });
    expect((await all('POST', { listIds: [first.id, second.id] })).body).toEqual({
      count: 20_002,
      created: 10_001,
      existing: 10_001,
    });
    expect((await all('DELETE', { excludeIdsAllContacts: [last, 999_999_999] })).body).toEqual({
      deleted: 10_000,
      notFound: [],
    });
    expect([await countOf(first.id, key), await countOf(second.id, key)]).toEqual([1, 10_001]);
    const left = (await call('GET', `/list/${first.id}/contacts`, undefined, key)).body;
    expect([left.total, left.data[0].id]).toEqual([1, last]);
  });

  test('have exact counts while many requests add, remove and delete at once', async () => {
    const own = await newAccount();
    const key = own.apiKey;
    const lists = [await list({}, key), await list({}, key), await list({}, key)].map(({ id }) => id);
    const contacts = await Promise.all(Array.from({ length: 12 }, () => contact(key)));
    const work = contacts.flatMap((id, i) => [
      call('POST', '/list/contacts', { listIds: lists, allContacts: true, excludeIdsAllContacts: [id] }, key),
      call('DELETE', '/list/contacts', { listIds: [lists[i % 3], lists[(i + 1) % 3]], contactIds: [id] }, key),
      call('PUT', `/${id}`, { firstName: `Name ${i}` }, key),
      ...(i % 3 === 0 ? [call('DELETE', `?ids=${id}`, undefined, key)] : []),
      ...(i === 5 ? [call('DELETE', `/list?ids=${lists[2]}`, undefined, key)] : []),
    ]);
    const statuses = new Set((await Promise.all(work)).map(({ status }) => status));
    // 400: the list was deleted before; 404: the contact was.
    expect(
      [...statuses].every((status) => [200, 201, 400, 404].includes(status)),
      [...statuses].join(),
    ).toBe(true);
    const { accountId } = own;
    const counted = await many(
      pool,
      sql`SELECT l.id, l.contact_count - (SELECT count(*) FROM contact_list_member m
            WHERE m.account_id = l.account_id AND m.list_id = l.id) AS off
          FROM contact_list l WHERE account_id = ${accountId} ORDER BY id`,
    );
    expect(counted).toEqual(lists.map((id) => ({ id, off: 0 })));
    const wrong = sql`SELECT count(*) AS n FROM contact_list_member m
      LEFT JOIN contact c ON c.account_id = m.account_id AND c.id = m.contact_id
      WHERE m.account_id = ${accountId} AND (c.id IS NULL OR m.name_key <> lower(c.full_name))`;
    expect(await one(pool, wrong)).toEqual({ n: 0 });
    expect((await call('GET', '', undefined, key)).body.total).toBe(8);
  });
});

test('an id of another account gets exactly the same response as an unknown id', async () => {
  const foreign = await list({}, otherAccount.apiKey);
  for (const [method, path, body] of [
    ['GET', (id: number) => `/list/${id}`, undefined],
    ['PUT', (id: number) => `/list/${id}`, { name: 'x' }],
    ['GET', (id: number) => `/list/${id}/contacts`, undefined],
    ['DELETE', (id: number) => `/list/contacts/${id}`, undefined],
  ] as const) {
    const answers = [];
    for (const id of [foreign.id, 999_999_999]) {
      const answer = await call(method, path(id), body);
      answers.push({ ...answer, body: { ...answer.body, requestId: '' } });
    }
    expect(answers[0]?.status).toBe(404);
    expect(answers[1]).toEqual(answers[0]);
  }
});

test('every operation needs the scope contacts', async () => {
  const operations = SCOPES.filter((scope) => scope !== 'contacts');
  const made403 = await app.inject({
    method: 'POST',
    url: `${PG}/authentication`,
    payload: { operations },
    headers: { 'x-api-key': account.apiKey },
  });
  const calls = [
    ['GET', '/list'],
    ['POST', '/list'],
    ['DELETE', '/list'],
    ['GET', '/list/1'],
    ['PUT', '/list/1'],
    ['POST', '/list/contacts'],
    ['DELETE', '/list/contacts'],
    ['DELETE', '/list/contacts/1'],
  ] as const;
  for (const [method, path] of calls)
    expect((await call(method, path, undefined, made403.json().apiKey)).status, path).toBe(403);
});

test('many lists times many contacts are 400 before anything is added, and what remains within the limit is added', async () => {
  const crowd = await newAccount({ name: 'Lists', plan: 'unlimited', ratePerMinute: 0 });
  await manyContacts(crowd, 1001);
  const rows = await many<{ id: number }>(
    pool,
    sql`INSERT INTO contact_list (account_id, name) SELECT ${crowd.accountId}, 'n' || n FROM generate_series(1, 1000) AS n RETURNING id`,
  );
  const listIds = rows.map(({ id }) => id);
  const add = (more: object) => call('POST', '/list/contacts', { listIds, ...more }, crowd.apiKey);
  const contacts = await many<{ id: number }>(
    pool,
    sql`SELECT id FROM contact WHERE account_id = ${crowd.accountId} ORDER BY id`,
  );
  const ids = contacts.map(({ id }) => id);
  for (const chosen of [{ allContacts: true }, { contactIds: ids }])
    expect(await add(chosen)).toMatchObject({ status: 400, body: { details: [{ field: 'listIds' }] } });
  expect((await add({ allContacts: true, excludeIdsAllContacts: ids.slice(1) })).body).toMatchObject({
    created: 1000,
    existing: 0,
  });
});
