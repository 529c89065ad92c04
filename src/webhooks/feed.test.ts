import { fc, test as propertyTest } from '@fast-check/vitest';
import type { PoolClient } from 'pg';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { newKey, openRoutes } from '../../test/support/http/routes.ts';
import { newMessage } from '../../test/support/queue.ts';
import { exec, sql } from '../core/db/query.ts';
import { newId } from '../core/ids.ts';
import { STATUS } from '../core/message-state.ts';
import { insertMessages } from '../messages/new-messages.ts';
import { feedRoutes, readFeed, refreshFeeds } from './feed.ts';
import { publishEvents, publishFacts } from './outbox.ts';

const FEED = '/event-feed';
const { pool, account, otherAccount, call, ...routes } = await openRoutes([
  (app, deps) => feedRoutes(app, { ...deps, fileUrl: ({ messageId }) => `https://gateway.example.com/${messageId}` }),
]);
afterAll(() => routes[Symbol.asyncDispose]());
const { accountId } = account;

const switchFeed = (enabled: boolean) => call('PUT', `${FEED}/settings`, { enabled });
beforeEach(async () => {
  await switchFeed(false);
  await exec(pool, sql`DELETE FROM webhook_published`);
  expect((await switchFeed(true)).body).toMatchObject({ enabled: true });
});

type Event = { id: string; type: string; occurredAt: string; data: { messageId?: string; contactId?: number } };
type Page = { events: Event[]; next: string | null; caughtUp: boolean };
const read = async (query = ''): Promise<Page> => (await call('GET', `${FEED}?${query}`)).body;

/** Reads on from a cursor, a few events at a time, until there are no more. */
async function readOn(cursor: string | null, limit: number) {
  const events: Event[] = [];
  let next = cursor;
  for (;;) {
    const options = { after: next ?? undefined, limit, types: null, showsAmounts: false, fileUrl: () => '' };
    const page = (await readFeed(pool, { accountId }, options)) as Page;
    events.push(...page.events);
    next = page.next;
    if (page.caughtUp) return { events, next };
  }
}

const MESSAGES = 4;
const WRITERS = 3;
const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('write' as const),
      writer: fc.nat(WRITERS - 1),
      message: fc.nat(MESSAGES - 1),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constantFrom('commit' as const, 'rollback' as const), writer: fc.nat(WRITERS - 1) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('read' as const), limit: fc.integer({ min: 1, max: 5 }) }) },
);

propertyTest.prop([fc.array(step, { minLength: 10, maxLength: 40 })], { numRuns: 25 })(
  'a reader beside writers that commit in any order sees every event once, in an order that stays',
  async (steps) => {
    await exec(pool, sql`DELETE FROM webhook_published`);
    const messages = Array.from({ length: MESSAGES }, () => newMessage({ accountId, id: newId() }));
    await insertMessages(pool, messages);
    type Open = { readonly tx: PoolClient; readonly events: number[]; readonly held: Set<number> };
    const open = new Map<number, Open>();
    const committed = new Map<number, number>();
    let made = 0;
    let seen: Event[] = [];
    let next: string | null = null;
    const end = async (writer: number, command: 'COMMIT' | 'ROLLBACK') => {
      const own = open.get(writer);
      if (!own) return;
      open.delete(writer);
      await own.tx.query(command);
      own.tx.release();
      if (command === 'COMMIT') for (const event of own.events) committed.set(event, event);
    };
    for (const one of steps) {
      if (one.do === 'read') {
        const page = await readOn(next, one.limit);
        seen = [...seen, ...page.events];
        next = page.next;
      } else if (one.do !== 'write') await end(one.writer, one.do === 'commit' ? 'COMMIT' : 'ROLLBACK');
      else {
        // As the lock of a message's state ensures: no two open transactions write about the same message.
        if ([...open].some(([writer, { held }]) => writer !== one.writer && held.has(one.message))) continue;
        let own = open.get(one.writer);
        if (!own) {
          own = { tx: await pool.connect(), events: [], held: new Set() };
          await own.tx.query('BEGIN');
          open.set(one.writer, own);
        }
        const n = made++;
        own.events.push(n);
        own.held.add(one.message);
        const messageId = messages[one.message]?.id ?? '';
        // The time numbers the event.
        await publishEvents(own.tx, [
          { accountId, kind: 'DELIVERY', messageId, status: STATUS.ACCEPTED, at: new Date(n * 1000) },
        ]);
      }
    }
    for (const writer of [...open.keys()].reverse()) await end(writer, 'COMMIT');
    seen = [...seen, ...(await readOn(next, 2)).events];
    const numbers = seen.map(({ occurredAt }) => new Date(occurredAt).getTime() / 1000);
    expect(numbers.toSorted((a, b) => a - b)).toEqual([...committed.keys()].toSorted((a, b) => a - b));
    for (const { id } of messages) {
      const own = numbers.filter((_, i) => seen[i]?.data.messageId === id);
      expect(own).toEqual(own.toSorted((a, b) => a - b));
    }
    expect((await readOn(null, 3)).events.map(({ id }) => id)).toEqual(seen.map(({ id }) => id));
  },
);

const publishContact = (contactId: number) =>
  publishFacts(pool, [
    {
      accountId,
      type: 'contact.created',
      about: contactId,
      data: { contactId, phoneNumber: null, email: null, fullName: null, firstName: null, lastName: null },
    },
  ]);
async function publishMessage(): Promise<string> {
  const message = newMessage({ accountId, id: newId(), clientData: { metadata: { order: '1' }, tags: ['a'] } });
  await insertMessages(pool, [message]);
  await publishEvents(pool, [{ accountId, kind: 'DELIVERY', messageId: message.id, status: STATUS.DELIVERED }]);
  return message.id;
}

test('a reader gets the types that it asks for, and goes on with the same cursor', async () => {
  await publishContact(1);
  const messageId = await publishMessage();
  await publishContact(2);
  const contacts = await read('types=contact.*&limit=1');
  expect(contacts.events.map(({ type, data }) => [type, data.contactId])).toEqual([['contact.created', 1]]);
  const rest = await read(`after=${contacts.next}`);
  expect(rest.events[0]).toMatchObject({
    type: 'message.delivered',
    data: { messageId, metadata: { order: '1' }, tags: ['a'] },
  });
  expect(rest.events[1]).toMatchObject({ type: 'contact.created', data: { contactId: 2 } });
  expect(rest.caughtUp).toBe(true);
  expect(await read(`after=${rest.next}`)).toEqual({ events: [], next: rest.next, caughtUp: true });
  const unknown = await call('GET', `${FEED}?types=message.delivred`);
  expect(unknown).toMatchObject({
    status: 400,
    body: { details: [{ field: 'types', message: expect.stringContaining('message.delivered') }] },
  });
});

test('a waiting request answers as soon as there is an event', async () => {
  await publishContact(1);
  const { next } = await read();
  const waiting = read(`after=${next}&wait=25`);
  await publishContact(2);
  expect((await waiting).events.map(({ data }) => data.contactId)).toEqual([2]);
});

test('the cursor of a reader who has read everything moves on in a quiet feed, and stays in a busy one', async () => {
  await publishContact(1);
  const { next } = await read();
  expect(await refreshFeeds(pool, { before: new Date(Date.now() - 60_000) })).toBe(0);
  expect(await refreshFeeds(pool, { before: new Date(Date.now() + 60_000) })).toBe(1);
  const quiet = await read(`after=${next}`);
  expect(quiet).toEqual({ events: [], next: expect.not.stringMatching(next ?? ''), caughtUp: true });
  await exec(pool, sql`DELETE FROM webhook_published WHERE kind = 'contact.created'`);
  await publishContact(2);
  expect((await call('GET', `${FEED}?after=${next}`)).status).toBe(410);
  expect((await read(`after=${quiet.next}`)).events.map(({ data }) => data.contactId)).toEqual([2]);
});

test('a cursor from before the feed, or of another account or database, is answered 410, and a feed that is off 409', async () => {
  await publishContact(1);
  const { next } = await read();
  await switchFeed(false);
  expect((await call('GET', FEED)).status).toBe(409);
  await publishContact(2);
  await switchFeed(true);
  await publishContact(3);
  expect((await call('GET', `${FEED}?after=${next}`)).status).toBe(410);
  expect((await read()).events.map(({ data }) => data.contactId)).toEqual([3]);
  const key = await newKey(pool, otherAccount, ['webhooks']);
  await call('PUT', `${FEED}/settings`, { enabled: true }, key);
  const { next: own } = await read();
  expect((await call('GET', `${FEED}?after=${own}`, undefined, key)).status).toBe(410);
  expect((await call('GET', FEED, undefined, key)).body.events).toEqual([]);
  expect((await call('GET', `${FEED}?after=AAAAAAAAAAAAAAAAAAAAAAAA`)).status).toBe(410);
});
