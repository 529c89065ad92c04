import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { openTestInbox, type TestInbox } from '../../test/support/http/inbox.ts';
import { newKey } from '../../test/support/http/routes.ts';
import { until } from '../../test/support/until.ts';
import { exec, many, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import type { App } from '../core/http/app.ts';
import { insertNumber } from '../messages/inbound-store.ts';
import { createAccount, type NewAccount } from '../operate/account-commands.ts';
import { deleteOldInboxEvents, insertInboxEvents, type NewInboxEvent, updateLastEvents } from './conversations.ts';

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

type Event = {
  id: number;
  event: string;
  data: { text?: string; chatId?: string; unreadCount?: number; contact?: { id: number | null } };
};
type StreamOptions = {
  lastEventId?: number | string;
  follow?: boolean;
  accept?: string;
  origin?: string;
  key?: string;
};

/** Opens the stream; the events received so far grow in `events`. */
async function openStream({ lastEventId, follow = true, ...more }: StreamOptions = {}) {
  const { accept = 'text/event-stream', origin = one, key = account.apiKey } = more;
  const stop = new AbortController();
  const response = await fetch(`${origin}${PATH}/stream`, {
    signal: stop.signal,
    headers: {
      'x-api-key': key,
      accept: follow ? accept : 'application/json',
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
  // As browsers ask for it, and curl and fetch().
  const streams = [await openStream(), await openStream({ accept: '*/*' }), await openStream({ origin: two })];
  expect(streams[0]?.response.headers.get('content-type')).toContain('text/event-stream');
  // Events pass through nginx immediately.
  expect(streams[0]?.response.headers.get('x-accel-buffering')).toBe('no');
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

test('shows contacts only to callers with the scope contacts', async () => {
  const key = await newKey(inbox.database.pool, account, ['inbox']);
  await write('Hello');
  const contactFor = async (by: StreamOptions) => {
    const { events, reading } = await openStream({ lastEventId: 0, follow: false, ...by });
    await reading;
    return events.find(({ event }) => event === 'conversation')?.data.contact?.id;
  };
  expect([await contactFor({ key }), await contactFor({})]).toEqual([null, expect.any(Number)]);
});

test('resumes after the last event at another process, without gaps or repeats', async () => {
  const first = await openStream();
  await write('1');
  await untilTexts(first.events, ['1']);
  first.stop();
  for (const text of ['2', '3', '4']) await write(text);
  const second = await openStream({ lastEventId: first.events.at(-1)?.id ?? 0, origin: two });
  await write('5');
  await untilTexts(second.events, ['2', '3', '4', '5']);
  const ids = second.events.slice(1).map((event) => event.id);
  expect(ids).toEqual([...ids].sort((a, b) => a - b));
  expect(new Set(ids).size).toBe(ids.length);
  second.stop();
});

test('misses nothing while many events are written and many clients come and go', async () => {
  const texts = Array.from({ length: 40 }, (_, n) => `text ${n}`);
  const ready = await openStream();
  const writing = Promise.all(texts.map(write));
  const late = await Promise.all(
    Array.from({ length: 6 }, (_, n) => openStream({ lastEventId: 0, origin: n % 2 ? one : two })),
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
    const { events, reading } = await openStream({ lastEventId, follow: false });
    await reading;
    expect([lastEventId, events[0]?.event]).toEqual([lastEventId, event]);
  }
});

test('ends after the missed events for a client that does not follow', async () => {
  await write('1');
  const { events, reading } = await openStream({ lastEventId: 0, follow: false });
  await reading;
  expect(events.map((event) => event.event)).toEqual(['ready', 'message', 'conversation']);
});

test('ends when the server closes, and needs credentials with the scope', async () => {
  const { app, close } = await inbox.another();
  const origin = await app.listen({ port: 0, host: '127.0.0.1' });
  const { reading } = await openStream({ origin });
  await close();
  await reading;
  const refused = await fetch(`${one}${PATH}/stream`, { headers: { accept: 'text/event-stream' } });
  expect(refused.status).toBe(401);
});

test('sends nothing to another account', async () => {
  const mine = account;
  await write('for the first');
  account = await createAccount(inbox.database.pool, { name: 'Stranger', plan: 'unlimited', ratePerMinute: 0 });
  const stranger = await openStream({ lastEventId: 0, follow: false });
  await stranger.reading;
  expect(stranger.events.map((event) => event.event)).toEqual(['ready']);
  account = mine;
});

/** Makes this many events of a thread, each as long as a message can be. */
async function fill(count: number): Promise<void> {
  const { pool } = inbox.database;
  const { accountId } = account;
  const newest = sql`SELECT 'message' AS kind, chat_id AS "chatId", message_id AS "messageId" FROM inbox_event
    WHERE account_id = ${accountId} AND kind = 'message' ORDER BY id DESC LIMIT 1`;
  const [event] = await many<NewInboxEvent>(pool, newest);
  if (!event) throw new Error('no message to report');
  await transaction(pool, async (tx) => {
    const [moved] = await updateLastEvents(tx, [{ accountId, count }]);
    const rows = Array.from({ length: count }, (_, n) => ({ ...event, accountId, id: (moved?.before ?? 0) + n + 1 }));
    await insertInboxEvents(tx, rows);
  });
}

/** Opens two streams with large events to come: of a client that has stopped reading, and of one that reads. */
async function openBoth() {
  await write('x'.repeat(4000));
  const socket = connect(Number(new URL(one).port), '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  const headers = `host: a\r\naccept: text/event-stream\r\nx-api-key: ${account.apiKey}`;
  socket.write(`GET ${PATH}/stream HTTP/1.1\r\n${headers}\r\n\r\n`);
  await once(socket, 'readable');
  socket.pause();
  const healthy = await openStream();
  const { accountId } = account;
  await until('both streams to be open', () => inbox.hub.count(accountId) === 2);
  return { socket, healthy, accountId };
}

test('disconnects a client that does not read, while others get everything', async () => {
  const { socket, healthy, accountId } = await openBoth();
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

test('an account has at most two hundred streams, although four hundred are opened at once', async () => {
  const opened = await Promise.all(Array.from({ length: 400 }, () => openStream()));
  const countOf = (status: number): number => opened.filter(({ response }) => response.status === status).length;
  expect([countOf(200), countOf(429)]).toEqual([200, 200]);
  const [first] = opened.filter(({ response }) => response.status === 200);
  first?.stop();
  await until('a free place', async () => (await openStream()).response.status === 200);
  for (const { stop } of opened) stop();
  await until('all streams to be closed', () => inbox.hub.count(account.accountId) <= 1);
});

test('disconnects a client that reads nothing between two checks, however few events wait', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const { healthy, accountId } = await openBoth();
  for (const events of [1000, 2000]) {
    await fill(1000);
    await until('the healthy one has them', () => textsOf(healthy.events).length === events);
  }
  expect(inbox.hub.count(accountId)).toBe(2);
  vi.advanceTimersByTime(30_000);
  await until('one was disconnected', () => inbox.hub.count(accountId) === 1);
  await write('to the healthy one');
  await until('it has it', () => textsOf(healthy.events).at(-1) === 'to the healthy one');
  healthy.stop();
});

test('ends when its key is revoked, at the next check after fifteen seconds', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const stream = await openStream();
  await until('it began', () => stream.events.length === 1);
  vi.advanceTimersByTime(15_000);
  await write('still there');
  await untilTexts(stream.events, ['still there']);
  await exec(inbox.database.pool, sql`DELETE FROM api_key WHERE account_id = ${account.accountId}`);
  vi.advanceTimersByTime(15_000);
  await stream.reading;
  await until('the hub forgot it', () => inbox.hub.count(account.accountId) === 0);
});

test('ends when its account has left for another cell, so that the client connects there', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const stream = await openStream();
  await until('it began', () => stream.events.length === 1);
  await exec(inbox.database.pool, sql`UPDATE account SET away = 'moved', cell = 1 WHERE id = ${account.accountId}`);
  vi.advanceTimersByTime(15_000);
  await stream.reading;
  await until('the hub forgot it', () => inbox.hub.count(account.accountId) === 0);
});

test('a note is shown to all clients when it is written, and as its id alone when it is gone', async () => {
  await write('Hello');
  const { events, stop } = await openStream({ origin: two });
  const [{ chatId } = { chatId: '' }] = await many<{ chatId: string }>(
    inbox.database.pool,
    sql`SELECT chat_id AS "chatId" FROM conversation WHERE account_id = ${account.accountId}`,
  );
  const notes = `${one}${PATH}/${chatId}/notes`;
  const headers = { 'x-api-key': account.apiKey, 'content-type': 'application/json' };
  const added = await fetch(notes, { method: 'POST', headers, body: JSON.stringify({ text: 'Calls at noon' }) });
  const { id } = (await added.json()) as { id: string };
  await until('the note', () => events.length === 2);
  expect(events[1]).toMatchObject({ event: 'note', data: { chatId, id, text: 'Calls at noon' } });
  await fetch(`${notes}/${id}`, { method: 'DELETE', headers: { 'x-api-key': account.apiKey } });
  await until('the end of the note', () => events.length === 3);
  expect(events[2]).toMatchObject({ event: 'note', data: { chatId, id } });
  expect(events[2]?.data.text).toBeUndefined();
  stop();
});

test('who looks at a conversation is told to streams of the account at every process, without an id', async () => {
  const [here, there] = [await openStream(), await openStream({ origin: two })];
  const foreign = await openStream({ key: inbox.account.apiKey });
  for (const { events } of [here, there, foreign]) await until('the stream to be ready', () => events.length === 1);
  const seen = { chatId: '019389a0-0000-7000-8000-000000000000', username: 'ada', activity: 'TYPING' } as const;
  // Repeated, as clients do: a process that has just lost its connection to the database misses one.
  await until('the sighting', async () => {
    await inbox.deps.presence.report({ accountId: account.accountId, ...seen });
    return [here, there].every(({ events }) => events.length > 1);
  });
  for (const { events } of [here, there]) expect(events[1]).toEqual({ id: 0, event: 'presence', data: seen });
  expect(foreign.events).toHaveLength(1);
  for (const { stop } of [here, there, foreign]) stop();
});
