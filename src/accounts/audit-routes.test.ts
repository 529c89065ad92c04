import { afterAll, expect, test } from 'vitest';
import { newKey, openRoutes } from '../../test/support/http/routes.ts';
import { SCOPES } from '../core/actor.ts';
import { transaction } from '../core/db/transaction.ts';
import { operatorAuthor, recordAudit } from './audit.ts';
import { auditRoutes } from './audit-routes.ts';

const { pool, account, otherAccount, get, ...routes } = await openRoutes([auditRoutes]);
afterAll(() => routes[Symbol.asyncDispose]());

const list = (query = '', key?: string) => get(`/audit${query}`, key);
const record = (action: string, subject: string, detail?: Record<string, unknown>) =>
  transaction(pool, (tx) =>
    recordAudit(tx, operatorAuthor(account.accountId), { action, subject, ...(detail && { detail }) }),
  );
const actionsOf = ({ data }: { data: { action: string }[] }) => data.map(({ action }) => action);

test('entries are listed newest first, including those of operators', async () => {
  await record('thing.change', 'thing:1', { from: 'a', to: ['b'] });
  const { body } = await list();
  expect(actionsOf(body)).toEqual(['thing.change', 'api-key.create', 'account.create']);
  expect(body).toMatchObject({ page: 0, limit: 10, total: 3 });
  expect(body.data[0]).toEqual({
    id: expect.any(String),
    at: expect.stringMatching(/^\d{4}-.*Z$/),
    actor: { kind: 'operator', keyId: null, userId: null, username: expect.any(String) },
    action: 'thing.change',
    subject: 'thing:1',
    detail: { from: 'a', to: ['b'] },
  });
});

test('action, subject and time narrow the list and its total', async () => {
  await record('filter.one', 'thing:2');
  const since = new Date(Date.now() + 1).toISOString();
  while (Date.now() <= Date.parse(since));
  await record('filter.two', 'thing:2');
  await record('filter.two', 'thing:3');
  const found = async (query: string) => actionsOf((await list(query)).body);
  expect(await found('?action=filter.two')).toEqual(['filter.two', 'filter.two']);
  expect(await found('?subject=thing:2')).toEqual(['filter.two', 'filter.one']);
  expect(await found('?subject=thing:2&action=filter.one')).toEqual(['filter.one']);
  expect(await found(`?from=${since}`)).toEqual(['filter.two', 'filter.two']);
  expect(await found(`?subject=thing:2&to=${since}`)).toEqual(['filter.one']);
  expect((await list('?action=filter.two&limit=1&page=1')).body).toMatchObject({ page: 1, limit: 1, total: 2 });
  expect((await list('?from=yesterday')).status).toBe(400);
});

test('the list can be narrowed to one user and the keys that they made', async () => {
  const { accountId } = account;
  const author = { accountId, keyId: null, userId: 4711, username: 'anna' };
  await transaction(pool, async (tx) => {
    await recordAudit(tx, { ...author, kind: 'user' }, { action: 'by.person', subject: 'thing:4' });
    await recordAudit(tx, { ...author, kind: 'key', keyId: 12 }, { action: 'by.key', subject: 'thing:4' });
    await recordAudit(tx, operatorAuthor(accountId), { action: 'by.other', subject: 'thing:4' });
  });
  const { body } = await list('?userId=4711');
  // Entries of the same millisecond have no order.
  expect([actionsOf(body).toSorted(), body.total]).toEqual([['by.key', 'by.person'], 2]);
  expect(actionsOf((await list('?userId=4711&action=by.key')).body)).toEqual(['by.key']);
  expect((await list('?userId=0')).status).toBe(400);
});

test('an account sees its own entries only, and a caller without the scope keys sees none', async () => {
  expect(actionsOf((await list('', otherAccount.apiKey)).body)).toEqual(['api-key.create', 'account.create']);
  const operations = SCOPES.filter((scope) => scope !== 'keys');
  const apiKey = await newKey(pool, account, operations);
  expect((await list('', apiKey)).status).toBe(403);
});

test('an entry is rolled back together with its change', async () => {
  const failed = transaction(pool, async (tx) => {
    await recordAudit(tx, operatorAuthor(account.accountId), { action: 'rolled.back', subject: 'thing:9' });
    throw new Error('the change fails');
  });
  await expect(failed).rejects.toThrow('the change fails');
  expect((await list('?action=rolled.back')).body.total).toBe(0);
});
