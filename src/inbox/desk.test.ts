import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openTestInbox, type TestInbox } from '../../test/support/http/inbox.ts';
import { exec, many, sql } from '../core/db/query.ts';
import { createAccount } from '../operate/account-commands.ts';
import { wakeConversations } from './conversations.ts';

const INBOX = '/api/partner-gateway/v1/inbox';
const HOUR_MS = 3_600_000;

let inbox: TestInbox;
let stranger: string;
let people = 0;
beforeAll(async () => {
  inbox = await openTestInbox();
  const other = await createAccount(inbox.database.pool, { name: 'Other', plan: 'unlimited', ratePerMinute: 0 });
  stranger = other.apiKey;
});
afterAll(() => inbox[Symbol.asyncDispose]());

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
async function call(method: Method, path: string, body?: object, key = inbox.account.apiKey) {
  const answer = await inbox.app.inject({
    method,
    url: `${INBOX}${path}`,
    headers: { 'x-api-key': key, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { payload: JSON.stringify(body) }),
  });
  return { status: answer.statusCode, body: answer.body === '' ? null : answer.json() };
}

/** Receives a message from a new person; returns the path of their conversation. */
async function conversation(text = 'Hello') {
  const from = `39333${2_000_000 + people++}`;
  await inbox.write(text, { from });
  const { body } = await call('GET', `/conversations?search=${from}`);
  const chatId: string = body.data[0].chatId;
  return {
    from,
    chatId,
    path: `/conversations/${chatId}`,
    find: async () => (await call('GET', `/conversations/${chatId}`)).body,
  };
}

const chatIdsOf = async (query: string): Promise<string[]> =>
  (await call('GET', `/conversations?limit=1000&${query}`)).body.data.map((one: { chatId: string }) => one.chatId);
const totalOf = async (query: string): Promise<number> =>
  (await call('GET', `/conversations?limit=1&${query}`)).body.total;

describe('a note', () => {
  test('is kept apart from the messages, and nothing is sent', async () => {
    const { path, find } = await conversation();
    const before = await find();
    const added = await call('POST', `${path}/notes`, { text: 'Calls back at noon' });
    expect(added).toMatchObject({
      status: 201,
      body: { text: 'Calls back at noon', author: { userId: expect.any(Number) } },
    });
    expect((await call('GET', `${path}/notes`)).body).toEqual([added.body]);
    expect((await call('GET', `${path}/messages`)).body).toHaveLength(1);
    expect(await find()).toEqual(before);
    expect(await many(inbox.database.pool, sql`SELECT id FROM message`)).toEqual([]);
  });

  test('can be deleted, once', async () => {
    const { path } = await conversation();
    const { id } = (await call('POST', `${path}/notes`, { text: 'x' })).body;
    expect((await call('DELETE', `${path}/notes/${id}`)).status).toBe(204);
    expect((await call('DELETE', `${path}/notes/${id}`)).status).toBe(404);
    expect((await call('GET', `${path}/notes`)).body).toEqual([]);
  });

  test('of another account is unknown, and so is its conversation', async () => {
    const { path } = await conversation();
    const { id } = (await call('POST', `${path}/notes`, { text: 'x' })).body;
    for (const [method, at, body] of [
      ['GET', `${path}/notes`, undefined],
      ['POST', `${path}/notes`, { text: 'y' }],
      ['DELETE', `${path}/notes/${id}`, undefined],
    ] as const)
      expect((await call(method, at, body, stranger)).status).toBe(404);
  });

  test.each([{ text: '' }, { text: ' \n ' }, {}])('%j is refused', async (body) => {
    const { path } = await conversation();
    expect((await call('POST', `${path}/notes`, body)).status).toBe(400);
  });
});

describe('labels', () => {
  const add = async (): Promise<number> =>
    (await call('POST', '/labels', { name: randomUUID(), color: 'blue' })).body.id;

  test('are shown with a conversation, filter the list, and are replaced as a whole', async () => {
    const [{ path, chatId, find }, one, two] = [await conversation(), await add(), await add()];
    expect((await call('PUT', `${path}/labels`, { labelIds: [one, two] })).status).toBe(204);
    expect((await find()).labels.map((label: { id: number }) => label.id).sort()).toEqual([one, two]);
    expect(await chatIdsOf(`labelId=${one}`)).toEqual([chatId]);
    expect(await totalOf(`labelId=${one}`)).toBe(1);
    await call('PUT', `${path}/labels`, { labelIds: [two] });
    expect(await chatIdsOf(`labelId=${one}`)).toEqual([]);
    await call('PUT', `${path}/labels`, { labelIds: [] });
    expect((await find()).labels).toEqual([]);
  });

  test('have unique names in any case; a deleted one is taken from its conversations', async () => {
    const { path, find } = await conversation();
    const { body } = await call('POST', '/labels', { name: 'Complaint', color: 'red' });
    expect((await call('POST', '/labels', { name: ' complaint ', color: 'blue' })).status).toBe(409);
    const other = await add();
    expect((await call('PATCH', `/labels/${other}`, { name: 'COMPLAINT' })).status).toBe(409);
    expect((await call('PATCH', `/labels/${body.id}`, { color: 'pink' })).body).toEqual({ ...body, color: 'pink' });
    await call('PUT', `${path}/labels`, { labelIds: [body.id] });
    expect((await call('DELETE', `/labels/${body.id}`)).status).toBe(204);
    expect((await find()).labels).toEqual([]);
    expect((await call('GET', '/labels')).body).not.toContainEqual(expect.objectContaining({ id: body.id }));
  });

  test('of another account are unknown', async () => {
    const [{ path, find }, own] = [await conversation(), await add()];
    const foreign = (await call('POST', '/labels', { name: 'Theirs', color: 'gray' }, stranger)).body.id;
    expect(await call('PUT', `${path}/labels`, { labelIds: [own, foreign] })).toMatchObject({
      status: 400,
      body: { details: [{ field: 'labelIds' }] },
    });
    expect((await find()).labels).toEqual([]);
    expect((await call('PATCH', `/labels/${own}`, { color: 'red' }, stranger)).status).toBe(404);
    expect((await call('DELETE', `/labels/${own}`, undefined, stranger)).status).toBe(404);
    expect((await call('PUT', `${path}/labels`, { labelIds: [] }, stranger)).status).toBe(404);
  });
});

describe('a canned answer', () => {
  test('has a shortcut in lower case that no other one has, and can be changed and deleted', async () => {
    const { status, body } = await call('POST', '/canned-answers', { shortcut: 'Hours', text: 'From {{firstName}}' });
    expect([status, body]).toEqual([201, { id: expect.any(Number), shortcut: 'hours', text: 'From {{firstName}}' }]);
    expect((await call('POST', '/canned-answers', { shortcut: 'HOURS', text: 'x' })).status).toBe(409);
    const other = (await call('POST', '/canned-answers', { shortcut: 'other', text: 'x' })).body.id;
    expect((await call('PATCH', `/canned-answers/${other}`, { shortcut: 'hours' })).status).toBe(409);
    expect((await call('PATCH', `/canned-answers/${other}`, { text: ' y ' })).body.text).toBe('y');
    expect((await call('GET', '/canned-answers')).body.map((one: { shortcut: string }) => one.shortcut)).toEqual([
      'hours',
      'other',
    ]);
    for (const method of ['PATCH', 'DELETE'] as const) {
      const foreign = await call(
        method,
        `/canned-answers/${other}`,
        method === 'PATCH' ? { text: 'z' } : undefined,
        stranger,
      );
      expect(foreign.status).toBe(404);
    }
    expect((await call('DELETE', `/canned-answers/${other}`)).status).toBe(204);
    expect((await call('GET', '/canned-answers', undefined, stranger)).body).toEqual([]);
  });

  test.each([
    { shortcut: 'a b', text: 'x' },
    { shortcut: '', text: 'x' },
    { shortcut: 'a', text: ' ' },
  ])('%j is refused', async (body) => {
    expect((await call('POST', '/canned-answers', body)).status).toBe(400);
  });
});

describe('a snoozed conversation', () => {
  const inAnHour = () => ({ until: new Date(Date.now() + HOUR_MS).toISOString() });

  test('is out of the list and counted apart from the archived ones', async () => {
    const [{ path, chatId, find }, archived] = [await conversation(), await conversation()];
    await call('PATCH', `${archived.path}/archive`);
    const { until } = inAnHour();
    expect((await call('PUT', `${path}/snooze`, { until })).status).toBe(204);
    expect(await find()).toMatchObject({ archived: true, snoozedUntil: until });
    expect(await chatIdsOf('archived=false')).not.toContain(chatId);
    expect(await chatIdsOf('archived=true&snoozed=true')).toEqual([chatId]);
    expect(await chatIdsOf('archived=true&snoozed=false')).toEqual([archived.chatId]);
    expect([await totalOf('archived=true&snoozed=true'), await totalOf('archived=true&snoozed=false')]).toEqual([1, 1]);
  });

  test('returns as unread at its time, and not before', async () => {
    const { pool } = inbox.database;
    const { path, chatId, find } = await conversation();
    await call('PATCH', `${path}/read`);
    await call('PUT', `${path}/snooze`, inAnHour());
    expect(await wakeConversations(pool)).toBe(0);
    const unread = await totalOf('unreadOnly=true');
    await exec(pool, sql`UPDATE conversation SET snoozed_until = now() WHERE chat_id = ${chatId}`);
    expect(await wakeConversations(pool)).toBe(1);
    expect(await find()).toMatchObject({ archived: false, snoozedUntil: null, unreadCount: 1 });
    expect(await totalOf('unreadOnly=true')).toBe(unread + 1);
    expect(await wakeConversations(pool)).toBe(0);
  });

  test('returns when the person writes, and when it is unarchived', async () => {
    const { path, from, find } = await conversation();
    await call('PUT', `${path}/snooze`, inAnHour());
    await inbox.write('again', { from });
    expect(await find()).toMatchObject({ archived: false, snoozedUntil: null, unreadCount: 2 });
    await call('PUT', `${path}/snooze`, inAnHour());
    await call('PATCH', `${path}/unarchive`);
    expect(await find()).toMatchObject({ archived: false, snoozedUntil: null });
  });

  test('stays archived for good when it is archived', async () => {
    const { path, find } = await conversation();
    await call('PUT', `${path}/snooze`, inAnHour());
    expect((await call('PATCH', `${path}/archive`)).status).toBe(204);
    expect(await find()).toMatchObject({ archived: true, snoozedUntil: null });
  });

  test.each(['2020-01-01T00:00:00Z', '2099-01-01T00:00:00Z', 'tomorrow', '2027-02-31T00:00:00Z'])(
    'cannot return at %s',
    async (until) => {
      const { path, find } = await conversation();
      expect((await call('PUT', `${path}/snooze`, { until })).status).toBe(400);
      expect((await find()).archived).toBe(false);
    },
  );

  test('of another account is unknown', async () => {
    const { path } = await conversation();
    expect((await call('PUT', `${path}/snooze`, inAnHour(), stranger)).status).toBe(404);
    expect((await call('PATCH', `${path}/unread`, undefined, stranger)).status).toBe(404);
  });
});

test('a read conversation can be marked as unread; its counts follow', async () => {
  const { path, find } = await conversation();
  await call('PATCH', `${path}/read`);
  const before = await totalOf('unreadOnly=true');
  for (let n = 0; n < 2; n++) expect((await call('PATCH', `${path}/unread`)).status).toBe(204);
  expect((await find()).unreadCount).toBe(1);
  expect(await totalOf('unreadOnly=true')).toBe(before + 1);
});
