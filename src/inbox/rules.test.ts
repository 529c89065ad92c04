import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openTestInbox, type TestInbox } from '../../test/support/http/inbox.ts';
import { serveRoutes } from '../../test/support/http/routes.ts';
import { runJobs } from '../../test/support/jobs.ts';
import { userRoutes } from '../accounts/user-routes.ts';
import { insertUser } from '../accounts/users.ts';
import { exec, many, sql } from '../core/db/query.ts';
import {
  autoAnswer,
  type InboxSettings,
  insertAvailability,
  insertSettings,
  listAvailableAgents,
  mayBeAnswered,
  removeAgent,
} from './rules.ts';

const INBOX = '/api/partner-gateway/v1/inbox';
const ANSWER = 'We are closed';

let inbox: TestInbox;
let people = 0;
beforeAll(async () => {
  inbox = await openTestInbox();
});
afterAll(() => inbox[Symbol.asyncDispose]());
beforeEach(async () => {
  const { pool } = inbox.database;
  for (const table of [sql`inbox_settings`, sql`inbox_agent`, sql`job`, sql`keyword_rule`])
    await exec(pool, sql`DELETE FROM ${table}`);
});

async function call(method: 'GET' | 'PUT', path: string, body?: object) {
  const answer = await inbox.app.inject({
    method,
    url: `${INBOX}${path}`,
    headers: { 'x-api-key': inbox.account.apiKey, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { payload: JSON.stringify(body) }),
  });
  return { status: answer.statusCode, body: answer.json() };
}
const nextPerson = (): string => `39333${3_000_000 + people++}`;
const conversationWith = async (person: string) => (await call('GET', `/conversations?search=${person}`)).body.data[0];

/** Hours of a week in which the account is closed now. */
const closedNow = () => {
  const tomorrow = (new Date().getUTCDay() % 7) + 1;
  return [{ weekday: tomorrow === 8 ? 1 : tomorrow, from: 600, to: 601 }];
};
const SETTINGS: InboxSettings = {
  assignment: 'MANUAL',
  closedAnswer: null,
  autoRead: false,
  timeZone: 'UTC',
  openHours: [],
};
const closed = () =>
  insertSettings(inbox.database.pool, {
    ...SETTINGS,
    accountId: inbox.account.accountId,
    closedAnswer: ANSWER,
    openHours: closedNow(),
  });

async function agent(role: 'sender' | 'viewer' = 'sender', available = true): Promise<number> {
  const { pool } = inbox.database;
  const { accountId } = inbox.account;
  const user = await insertUser(pool, { accountId, username: randomUUID(), passwordHash: 'none', role });
  const userId = user?.id ?? 0;
  await insertAvailability(pool, { accountId, userId, available });
  return userId;
}

describe('assignment in turn', () => {
  const inTurn = () =>
    insertSettings(inbox.database.pool, { ...SETTINGS, accountId: inbox.account.accountId, assignment: 'ROUND_ROBIN' });

  test('gives conversations that nobody has to the available users one after the other', async () => {
    await inTurn();
    const [one, two] = [await agent(), await agent()];
    await agent('viewer');
    await agent('sender', false);
    const got: number[] = [];
    for (let n = 0; n < 4; n++) {
      const person = nextPerson();
      await inbox.write('Hello', { from: person });
      got.push((await conversationWith(person)).assignee.userId);
    }
    expect(got).toEqual([one, two, one, two]);
    expect(await listAvailableAgents(inbox.database.pool, inbox.account)).toEqual([one, two]);
  });

  test('divides those that arrive at once', async () => {
    await inTurn();
    const users = [await agent(), await agent(), await agent()];
    const persons = Array.from({ length: 6 }, nextPerson);
    await Promise.all(persons.map((from) => inbox.write('Hello', { from })));
    const got = await Promise.all(persons.map(async (person) => (await conversationWith(person)).assignee.userId));
    expect(users.map((id) => got.filter((each) => each === id).length)).toEqual([2, 2, 2]);
  });

  test('leaves a conversation with the user who has it', async () => {
    const person = nextPerson();
    const first = await agent();
    await inTurn();
    await inbox.write('Hello', { from: person });
    await agent();
    await inbox.write('again', { from: person });
    expect((await conversationWith(person)).assignee.userId).toBe(first);
  });

  test('publishes each assignment, and a user who is removed leaves the conversations to the others', async () => {
    const { pool } = inbox.database;
    const { accountId, apiKey } = inbox.account;
    await inTurn();
    await exec(pool, sql`UPDATE account SET feed_since = now() WHERE id = ${accountId}`);
    const [leaves, stays] = [await agent(), await agent()];
    const person = nextPerson();
    await inbox.write('Hello', { from: person });
    await inbox.write('Hello', { from: nextPerson() });
    const { chatId } = await conversationWith(person);
    const assigned = async () =>
      (
        await many<{ userId: number | null }>(
          pool,
          sql`SELECT (data->>'userId')::bigint AS "userId" FROM webhook_published
            WHERE kind = 'conversation.assigned' AND data->>'chatId' = ${chatId} ORDER BY id`,
        )
      ).map(({ userId }) => userId);
    expect(await assigned()).toEqual([leaves]);
    const app = serveRoutes([(own, deps) => userRoutes(own, { ...deps, onRemove: removeAgent })], inbox.deps);
    const url = `/api/partner-gateway/v1/users/${leaves}`;
    expect((await app.inject({ method: 'DELETE', url, headers: { 'x-api-key': apiKey } })).statusCode).toBe(204);
    await app.close();
    const free = (await call('GET', '/conversations?assignee=none&limit=1000')).body.data;
    expect(free.map((one: { chatId: string }) => one.chatId)).toContain(chatId);
    expect(await many(pool, sql`SELECT FROM inbox_agent WHERE user_id = ${leaves}`)).toEqual([]);
    await inbox.write('Anybody?', { from: person });
    expect((await conversationWith(person)).assignee.userId).toBe(stays);
    expect(await assigned()).toEqual([leaves, null, stays]);
    await exec(pool, sql`UPDATE account SET feed_since = NULL WHERE id = ${accountId}`);
  });

  test('assigns nothing while nobody is available, and then when the person writes again', async () => {
    await inTurn();
    const person = nextPerson();
    await inbox.write('Hello', { from: person });
    expect((await conversationWith(person)).assignee).toBeNull();
    const late = await agent();
    await inbox.write('Anybody?', { from: person });
    expect((await conversationWith(person)).assignee.userId).toBe(late);
  });
});

describe('the automatic answer', () => {
  const send = () => runJobs(inbox.database.pool, autoAnswer.using(inbox.deps));
  async function answersTo(person: string): Promise<string[]> {
    await send();
    const { chatId } = await conversationWith(person);
    const messages = (await call('GET', `/conversations/${chatId}/messages`)).body;
    return messages.flatMap((m: { direction: string; text: string }) => (m.direction === 'OUTBOUND' ? [m.text] : []));
  }

  test('is sent once for each conversation and closed period, and the conversation stays unread', async () => {
    await closed();
    const person = nextPerson();
    await inbox.write('Hello', { from: person });
    await inbox.write('Anybody?', { from: person });
    expect(await answersTo(person)).toEqual([ANSWER]);
    expect((await conversationWith(person)).unreadCount).toBe(2);
    await inbox.write('Hm', { from: person });
    expect(await answersTo(person)).toEqual([ANSWER]);
    await exec(inbox.database.pool, sql`UPDATE conversation SET answered_period = 'an earlier one'`);
    await inbox.write('Hello again', { from: person });
    expect(await answersTo(person)).toEqual([ANSWER, ANSWER]);
  });

  test('is sent once when several workers send at the same time', async () => {
    await closed();
    const person = nextPerson();
    await inbox.write('Hello', { from: person });
    await Promise.all([1, 2, 3].map(send));
    expect(await answersTo(person)).toEqual([ANSWER]);
  });

  test('is not sent while the account is open, and not without a text', async () => {
    const always = [1, 2, 3, 4, 5, 6, 7].map((weekday) => ({ weekday, from: 0, to: 1440 }));
    const { accountId } = inbox.account;
    await insertSettings(inbox.database.pool, { ...SETTINGS, accountId, closedAnswer: ANSWER, openHours: always });
    const [open, silent] = [nextPerson(), nextPerson()];
    await inbox.write('Hello', { from: open });
    expect(await answersTo(open)).toEqual([]);
    await insertSettings(inbox.database.pool, { ...SETTINGS, accountId, openHours: closedNow() });
    await inbox.write('Hello', { from: silent });
    expect(await answersTo(silent)).toEqual([]);
  });

  test.each(['STOP', 'Start', 'Automatic reply: I am away', 'Risposta automatica', "I'm driving, talk later", ANSWER])(
    'is not sent to %j',
    async (text) => {
      await closed();
      const person = nextPerson();
      await inbox.write(text, { from: person });
      expect(await answersTo(person)).toEqual([]);
    },
  );

  test('is not sent to somebody who has opted out, nor where a keyword answers', async () => {
    await closed();
    const [gone, asking] = [nextPerson(), nextPerson()];
    await inbox.write('STOP', { from: gone });
    await inbox.write('Hello?', { from: gone });
    expect(await answersTo(gone)).toEqual([]);
    const { accountId } = inbox.account;
    await exec(
      inbox.database.pool,
      sql`INSERT INTO keyword_rule (account_id, keyword, answer) VALUES (${accountId}, 'hours', 'From 9')`,
    );
    await inbox.write('Hours please', { from: asking });
    expect(await answersTo(asking)).toEqual([]);
    expect(await many(inbox.database.pool, sql`SELECT FROM job WHERE kind = ${autoAnswer.kind}`)).toEqual([]);
  });
});

test('services that write under a short code or a name are not answered, people are', () => {
  const from = (source: string, channel: 'SMS' | 'WHATSAPP' = 'SMS') =>
    mayBeAnswered({ channel, source, text: 'Hello', said: null }, ANSWER);
  expect([from('4400'), from('ACME'), from('393331234567'), from('US.13491208655302', 'WHATSAPP')]).toEqual([
    false,
    false,
    true,
    true,
  ]);
});

test('settings are stored, and shown as they were set; without any, conversations are assigned by hand', async () => {
  expect((await call('GET', '/settings')).body).toEqual(SETTINGS);
  const settings = {
    assignment: 'ROUND_ROBIN',
    closedAnswer: ANSWER,
    autoRead: true,
    timeZone: 'Europe/Rome',
    openHours: [{ weekday: 1, from: 540, to: 1080 }],
  };
  expect(await call('PUT', '/settings', settings)).toEqual({ status: 200, body: settings });
  expect((await call('GET', '/settings')).body).toEqual(settings);
});

test('unknown fields of opening hours are not stored', async () => {
  const openHours = [{ weekday: 1, from: 540, to: 1080 }];
  const more = openHours.map((period) => ({ ...period, open: true }));
  expect((await call('PUT', '/settings', { ...SETTINGS, openHours: more })).body.warnings).toHaveLength(1);
  const stored = await many(inbox.database.pool, sql`SELECT open_hours AS "openHours" FROM inbox_settings`);
  expect(stored).toEqual([{ openHours }]);
});

test.each([
  [{ timeZone: 'Mars/Olympus' }, 'timeZone'],
  [{ openHours: [{ weekday: 1, from: 600, to: 600 }] }, 'openHours[0].to'],
  [{ openHours: [{ weekday: 8, from: 0, to: 60 }] }, 'openHours[0].weekday'],
  [{ closedAnswer: ANSWER, openHours: [] }, 'openHours'],
  [{ closedAnswer: ' ' }, 'closedAnswer'],
])('%j is refused with the field %s', async (change, field) => {
  const { status, body } = await call('PUT', '/settings', { ...SETTINGS, ...change });
  expect([status, body.details?.[0]?.field]).toEqual([400, field]);
});

test('a key cannot be available', async () => {
  expect((await call('PUT', '/availability', { available: true })).status).toBe(403);
  expect((await call('GET', '/availability')).body).toEqual({ available: false });
});
