import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { createAccount, type NewAccount } from '../../../operations/accounts/create.ts';
import { exec, many, sql } from '../../../platform/db/query.ts';
import type { App } from '../../../platform/http/app.ts';
import { insertNumber } from '../../../messaging/inbound/sql.ts';
import { openTestInbox, type TestInbox } from '../../../../test/support/http/inbox.ts';
import { until } from '../../../../test/support/until.ts';
import { transaction } from '../../../platform/db/transaction.ts';
import { deleteOldInboxEvents, insertInboxEvents, updateLastEvents, type NewInboxEvent } from './sql.ts';

const PATH = '/api/partner-gateway/v1/inbox/conversations';

let inbox: TestInbox;
let one: string;
let other: { app: App; close(): Promise<void> };
let two: string;
let account: NewAccount;
let number = 8000;
beforeAll(async () => {
  inbox = await openTestInbox();
  other = await inbox.another();
  [one, two] = (await Promise.all([inbox.app, other.app].map((app) => app.listen({ port: 0, host: '127.0.0.1' })))) as [
    string,
    string,
  ];
});
afterAll(async () => {
  await other.close();
  await inbox[Symbol.asyncDispose]();
});
beforeEach(async () => {
  const { pool } = inbox.database;
  account = await createAccount(pool, { name: `Acme ${number}`, plan: 'unlimited', ratePerMinute: 0 });
  number++;
  await insertNumber(pool, { connectionId: inbox.connectionId, number: `${number}`, accountId: account.accountId });
});

const write = (text: string): Promise<void> => inbox.write(text, { to: `${number}` });

type Event = { id: number; event: string; data: { text?: string; chatId?: string; unreadCount?: number } };
type Look = { lastEventId?: number | string; follow?: boolean; origin?: string };

/** Opens the stream; what has come of it so far grows in `events`. */
async function look({ lastEventId, follow = true, origin = one }: Look = {}) {
  const stop = new AbortController();
  const response = await fetch(`${origin}${PATH}/stream`, {
    signal: stop.signal,
    headers: {
      'x-api-key': account.apiKey,
      accept: follow ? 'text/event-stream' : '*/*',
      ...(lastEventId !== undefined && { 'last-event-id': String(lastEventId) }),
    },
  });
  const events: Event[] = [];
  const reading = readAll(response, events).catch(() => undefined);
  return { response, events, reading, stop: () => stop.abort() };
}

async function readAll(response: Response, events: Event[]): Promise<void> {
  let rest = '';
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    const blocks = (rest + decoder.decode(chunk, { stream: true })).split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1] ?? '';
      if (field('event') !== '')
        events.push({ id: Number(field('id')), event: field('event'), data: JSON.parse(field('data')) });
    }
  }
}

const textsOf = (events: readonly Event[]) =>
  events.flatMap(({ event, data }) => (event === 'message' ? data.text : []));
const untilTexts = (events: readonly Event[], texts: readonly string[]) =>
  until(`messages ${texts.join()}`, () => JSON.stringify(textsOf(events)) === JSON.stringify(texts));

test('sends messages and conversations as they change to all clients, at every process', async () => {
  const streams = [await look(), await look(), await look({ origin: two })];
  expect(streams[0]?.response.headers.get('content-type')).toContain('text/event-stream');
  expect(streams[0]?.response.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
  await write('Hello');
  for (const { events, stop } of streams) {
    await until('both events', () => events.length === 3);
    expect(events.map((event) => event.event)).toEqual(['ready', 'message', 'conversation']);
    expect(events[1]?.data).toMatchObject({ text: 'Hello', direction: 'INBOUND', chatId: events[2]?.data.chatId });
    expect(events[2]?.data).toMatchObject({ unreadCount: 1, channelIdentity: `${number}` });
    stop();
  }
});

test('resumes after the last event at another process, without gaps or repeats', async () => {
  const first = await look();
  await write('1');
  await untilTexts(first.events, ['1']);
  first.stop();
  for (const text of ['2', '3', '4']) await write(text);
  const second = await look({ lastEventId: first.events.at(-1)?.id ?? 0, origin: two });
  await write('5');
  await untilTexts(second.events, ['2', '3', '4', '5']);
  const ids = second.events.slice(1).map((event) => event.id);
  expect(ids).toEqual([...ids].sort((a, b) => a - b));
  expect(new Set(ids).size).toBe(ids.length);
  second.stop();
});

test('misses nothing while many events are written and many clients come and go', async () => {
  const texts = Array.from({ length: 40 }, (_, n) => `text ${n}`);
  const ready = await look();
  const writing = Promise.all(texts.map(write));
  const late = await Promise.all(
    Array.from({ length: 6 }, (_, n) => look({ lastEventId: 0, origin: n % 2 ? one : two })),
  );
  await writing;
  for (const { events, stop } of [ready, ...late]) {
    await until('all messages', () => textsOf(events).length >= texts.length);
    expect(textsOf(events)).toEqual(texts);
    stop();
  }
});

test('sends reload to a client that was away for longer than events are stored, and to one with an unknown id', async () => {
  for (const text of ['1', '2']) await write(text);
  const { pool } = inbox.database;
  await exec(
    pool,
    sql`UPDATE inbox_event SET created_at = now() - interval '2 days' WHERE account_id = ${account.accountId} AND id <= 2`,
  );
  expect(await deleteOldInboxEvents(pool, { limit: 100 })).toBe(2);
  for (const [lastEventId, event] of [
    [1, 'reload'],
    [2, 'ready'],
    [999, 'reload'],
    ['nonsense', 'ready'],
  ] as const) {
    const { events, reading } = await look({ lastEventId, follow: false });
    await reading;
    expect([lastEventId, events[0]?.event]).toEqual([lastEventId, event]);
  }
});

test('ends after the missed events for a client that does not follow', async () => {
  await write('1');
  const { events, reading } = await look({ lastEventId: 0, follow: false });
  await reading;
  expect(events.map((event) => event.event)).toEqual(['ready', 'message', 'conversation']);
});

test('ends when the server closes, and needs credentials with the scope', async () => {
  const { app, close } = await inbox.another();
  const origin = await app.listen({ port: 0, host: '127.0.0.1' });
  const { reading } = await look({ origin });
  await close();
  await reading;
  const refused = await fetch(`${one}${PATH}/stream`, { headers: { accept: 'text/event-stream' } });
  expect(refused.status).toBe(401);
});

test('sends nothing to another account', async () => {
  const mine = account;
  await write('for the first');
  account = await createAccount(inbox.database.pool, { name: 'Stranger', plan: 'unlimited', ratePerMinute: 0 });
  const stranger = await look({ lastEventId: 0, follow: false });
  await stranger.reading;
  expect(stranger.events.map((event) => event.event)).toEqual(['ready']);
  account = mine;
});

/** Makes so many events of a thread, each as long as a message can be. */
async function fill(count: number): Promise<void> {
  const { pool } = inbox.database;
  const { accountId } = account;
  const newest = sql`SELECT 'message' AS kind, chat_id AS "chatId", message_id AS "messageId" FROM inbox_event
    WHERE account_id = ${accountId} AND kind = 'message' ORDER BY id DESC LIMIT 1`;
  const [event] = await many<NewInboxEvent>(pool, newest);
  if (!event) throw new Error('no message to tell of');
  await transaction(pool, async (tx) => {
    const [moved] = await updateLastEvents(tx, [{ accountId, count }]);
    const rows = Array.from({ length: count }, (_, n) => ({ ...event, accountId, id: (moved?.before ?? 0) + n + 1 }));
    await insertInboxEvents(tx, rows);
  });
}

test('disconnects a client that does not read, while others get everything', async () => {
  await write('x'.repeat(4000));
  const socket = connect(Number(new URL(one).port), '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  const headers = `host: a\r\naccept: text/event-stream\r\nx-api-key: ${account.apiKey}`;
  socket.write(`GET ${PATH}/stream HTTP/1.1\r\n${headers}\r\n\r\n`);
  await once(socket, 'readable');
  socket.pause();
  const healthy = await look();
  const { accountId } = account;
  await until('both look on', () => inbox.hub.count(accountId) === 2);
  let events = 0;
  while (inbox.hub.count(accountId) === 2) {
    await fill(1000);
    events += 1000;
    await until('the healthy one has them', () => textsOf(healthy.events).length === events);
  }
  expect(inbox.hub.count(accountId)).toBe(1);
  let octets = 0;
  socket.on('data', (chunk) => (octets += chunk.length)).on('error', () => undefined);
  socket.resume();
  await once(socket, 'close');
  expect(octets).toBeLessThan(events * 4000);
  healthy.stop();
});

test('ends when its key is revoked, at the next check after fifteen seconds', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const stream = await look();
  await until('it began', () => stream.events.length === 1);
  vi.advanceTimersByTime(15_000);
  await write('still there');
  await untilTexts(stream.events, ['still there']);
  await exec(inbox.database.pool, sql`DELETE FROM api_key WHERE account_id = ${account.accountId}`);
  vi.advanceTimersByTime(15_000);
  await stream.reading;
  expect(inbox.hub.count(account.accountId)).toBe(0);
});
