import { fc, test as propertyTest } from '@fast-check/vitest';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { reset } from '../../test/support/reset.ts';
import { runs } from '../../test/support/runs.ts';
import type { Channel } from '../core/channels.ts';
import { sql } from '../core/db/query.ts';
import { openWorkerSession } from '../core/db/worker-session.ts';
import { newId } from '../core/ids.ts';
import { silentLog } from '../core/log.ts';
import { createAccount } from '../operate/account-commands.ts';
import {
  countUses,
  insertConnection,
  moveConnectionStatus,
  notifyRoutingChange,
  ROUTING_CHANNEL,
} from './connection-store.ts';
import { createRouter, type Router } from './router.ts';
import type { Conditions, Traffic } from './routes.ts';
import * as db from './routes.ts';
import { insertSender } from './senders.ts';

const { pool, connectionString } = testDatabase();

let connectionIds: number[];
beforeAll(async () => {
  const made = ['one', 'two', 'three'].map((name) =>
    insertConnection(pool, { name, kind: 'smpp', sandbox: false, settings: {} }),
  );
  connectionIds = (await Promise.all(made)).map((row) => row?.id ?? 0);
});
beforeEach(() => reset(pool, sql`TRUNCATE route, conditional_route`));

/** A route over one of the three connections, counted from 0. */
const add = (prefix: string, connection: number, priority = 100, channel: Channel = 'SMS') =>
  db.insertRoute(pool, { channel, prefix, connectionId: connectionIds[connection] ?? 0, priority });

const traffic = (more: Partial<Traffic> = {}): Traffic => ({
  accountId: 7,
  sender: '',
  network: null,
  at: null,
  key: newId(),
  salt: 0,
  ...more,
});

const wayOf = (router: Router, number: string, more: Partial<Traffic> = {}): readonly number[] =>
  router.find('SMS', number, traffic(more)).connectionIds;

/** A route with conditions over one of the three connections. */
const addFor = (
  prefix: string,
  connection: number,
  only: Partial<Conditions>,
  more: { priority?: number; weight?: number } = {},
) =>
  db.insertConditionalRoute(pool, {
    channel: 'SMS',
    prefix,
    connectionId: connectionIds[connection] ?? 0,
    priority: 100,
    network: null,
    accountId: null,
    sender: null,
    hours: null,
    purpose: null,
    ...only,
    ...more,
  });

const plain = (prefix: string, connection: number) => ({
  channel: 'SMS' as const,
  prefix,
  connectionId: connectionIds[connection] ?? 0,
  priority: 100,
});

const addWeight = (prefix: string, connection: number, weight: number) =>
  db.insertRoute(pool, { ...plain(prefix, connection), weight });

/** The ways of messages after a reload, as connections counted from 0. */
async function ways(): Promise<(number: string, more?: Partial<Traffic>) => number[]> {
  const router = createRouter(pool);
  await router.reload();
  return (number, more) => wayOf(router, number, more).map((id) => connectionIds.indexOf(id));
}

/** The router after a reload, returning connections counted from 0. */
async function route(): Promise<(destination: string, channel?: Channel) => number | null> {
  const router = createRouter(pool);
  await router.reload();
  return (destination, channel = 'SMS') => {
    const [id] = router.find(channel, destination, traffic()).connectionIds;
    return id === undefined ? null : connectionIds.indexOf(id);
  };
}

test('the longest matching prefix decides, and an empty one matches every number', async () => {
  await add('', 0);
  await add('39', 1);
  await add('39333', 2);
  const find = await route();
  expect(['+351912345678', '+393401234567', '+393331234567'].map((number) => find(number))).toEqual([0, 1, 2]);
});

test('among equal prefixes the lowest priority number decides, among equal priorities the older route', async () => {
  await add('39', 1, 100);
  await add('39', 0, 100);
  expect((await route())('+393331234567')).toBe(1);
  await add('39', 2, 50);
  expect((await route())('+393331234567')).toBe(2);
});

test('the routes of the deciding prefix come in their order, and those of shorter prefixes are not used', async () => {
  await add('39', 2, 200);
  await add('39', 1, 100);
  await add('', 0, 1);
  const router = createRouter(pool);
  await router.reload();
  const named = (number: string) => wayOf(router, number).map((id) => connectionIds.indexOf(id));
  expect(named('+393331234567')).toEqual([1, 2]);
  expect(named('+351912345678')).toEqual([0]);
  expect((await db.listRoutes(pool)).map((r) => [r.prefix, r.connection, r.order])).toEqual([
    ['39', 'two', 1],
    ['39', 'three', 2],
    ['', 'one', 1],
  ]);
});

test('the sandbox never replaces a real carrier, nor a real carrier the sandbox', async () => {
  const made = await insertConnection(pool, { name: 'sandbox', kind: 'smpp', sandbox: true, settings: {} });
  const addSandbox = (prefix: string, priority: number) =>
    db.insertRoute(pool, { channel: 'SMS', prefix, connectionId: made?.id ?? 0, priority });
  await add('39', 0);
  await addSandbox('39', 1000);
  await addSandbox('351', 1);
  await add('351', 1);
  const router = createRouter(pool);
  await router.reload();
  expect(wayOf(router, '+393331234567')).toEqual([connectionIds[0]]);
  expect(wayOf(router, '+351912345678')).toEqual([made?.id]);
});

test('a longer prefix wins over any priority', async () => {
  await add('39', 0, 1);
  await add('393', 1, 999);
  expect((await route())('+393331234567')).toBe(1);
});

test('on WhatsApp and RCS the sender and its owner decide', async () => {
  await add('', 0);
  const account = await createAccount(pool, { name: 'Acme', plan: 'unlimited' });
  const [, connectionId = 0] = connectionIds;
  const named = { connectionId, name: '' };
  await insertSender(pool, { ...named, channel: 'RCS', identity: 'common', ownerId: null });
  await insertSender(pool, { ...named, channel: 'WHATSAPP', identity: '106', ownerId: account.accountId });
  const router = createRouter(pool);
  await router.reload();
  const number = '+393331234567';
  const over = (channel: Channel, sender: string) => router.find(channel, number, traffic({ sender })).connectionIds;
  expect(over('RCS', 'common')).toEqual([connectionId]);
  expect(over('WHATSAPP', '106')).toEqual([connectionId]);
  expect(over('WHATSAPP', 'common')).toEqual([]);
  expect(over('RCS', '')).toEqual([]);
  const may = (accountId: number): boolean[] => [
    router.maySend(accountId, 'RCS', 'common'),
    router.maySend(accountId, 'WHATSAPP', '106'),
    router.maySend(accountId, 'WHATSAPP', 'none'),
    router.maySend(accountId, 'SMS', 'Acme'),
  ];
  expect(may(account.accountId)).toEqual([true, true, false, true]);
  expect(may(account.accountId + 1)).toEqual([true, false, false, true]);
});

test('a route with conditions goes before those without, and is used only where all of its conditions are met', async () => {
  await add('39', 0);
  await addFor('39', 1, { accountId: 7, sender: 'Acme' });
  const find = await ways();
  const number = '+393331234567';
  expect(find(number, { sender: 'ACME' })).toEqual([1, 0]);
  expect(find(number, { sender: 'Other' })).toEqual([0]);
  expect(find(number, { sender: 'ACME', accountId: 8 })).toEqual([0]);
});

test('a route for a network is not used while the network is not known', async () => {
  await add('39', 0);
  await addFor('39', 1, { network: '22201' });
  const find = await ways();
  expect(find('+393331234567', { network: '22201' })).toEqual([1, 0]);
  expect(find('+393331234567', { network: '22210' })).toEqual([0]);
  expect(find('+393331234567')).toEqual([0]);
});

test('a priority goes before conditions', async () => {
  await add('39', 0, 50);
  await addFor('39', 1, { accountId: 7 });
  expect((await ways())('+393331234567')).toEqual([0, 1]);
});

test('where no condition of the longest prefix is met, the next shorter prefix decides, and where none is, nothing does', async () => {
  await add('', 0);
  await addFor('39', 1, { accountId: 8 });
  await addFor('39333', 2, { accountId: 7 });
  const find = await ways();
  expect(find('+393331234567')).toEqual([2]);
  expect(find('+393331234567', { accountId: 8 })).toEqual([1]);
  expect(find('+393331234567', { accountId: 9 })).toEqual([0]);
  await db.deleteRoutesOf(pool, { connectionId: connectionIds[0] ?? 0 });
  expect((await ways())('+393331234567', { accountId: 9 })).toEqual([]);
});

test('a route with hours is used for what is sent within them, now or at its time', async () => {
  await add('39', 0);
  const office = { from: '08:00', to: '20:00', timeZone: 'Europe/Rome', weekdays: [1, 2, 3, 4, 5] };
  await addFor('39', 1, { hours: office });
  const find = await ways();
  const at = (time: string) => find('+393331234567', { at: new Date(time) });
  expect(at('2027-01-15T12:00:00Z')).toEqual([1, 0]);
  expect(at('2027-01-16T12:00:00Z')).toEqual([0]);
  expect(at('2027-01-15T20:00:00Z')).toEqual([0]);
});

test('one connection may stand in a prefix under several conditions, and occurs once in the way', async () => {
  await add('39', 0, 200);
  await add('39', 1, 100);
  await addFor('39', 0, { sender: 'ACME' });
  await addFor('39', 0, { accountId: 7 });
  expect((await ways())('+393331234567', { sender: 'ACME' })).toEqual([0, 1]);
});

test('routes with a weight share the traffic of their priority, and the others follow for failover', async () => {
  await add('39', 0);
  await addWeight('39', 1, 75);
  await addWeight('39', 2, 25);
  const find = await ways();
  const found = Array.from({ length: 4000 }, () => find('+393331234567'));
  const first = found.filter(([best]) => best === 1).length;
  expect(first).toBeGreaterThan(2860);
  expect(first).toBeLessThan(3140);
  expect(found.every(([, , last]) => last === 0)).toBe(true);
  const [key, again] = [newId(), newId()];
  expect(find('+393331234567', { key })).toEqual(find('+393331234567', { key }));
  expect(find('+393331234567', { key: again })).toEqual(find('+393331234567', { key: again }));
});

test('a condition that is met does not bring the sandbox into the way of a real carrier', async () => {
  const made = await insertConnection(pool, { name: 'play', kind: 'smpp', sandbox: true, settings: {} });
  await add('39', 0, 50);
  await db.insertConditionalRoute(pool, {
    channel: 'SMS',
    prefix: '39',
    connectionId: made?.id ?? 0,
    priority: 100,
    network: null,
    accountId: 7,
    sender: null,
    hours: null,
    purpose: null,
  });
  const find = await ways();
  expect(find('+393331234567')).toEqual([0]);
});

test('the way says why it is not that of the prefix alone, and what happens without a response', async () => {
  await db.insertRoute(pool, { ...plain('39', 0), onUnknown: 'resubmit' });
  await addFor('39', 1, { accountId: 8 });
  const router = createRouter(pool);
  await router.reload();
  const { id } = (await db.listRoutes(pool)).find(({ accountId }) => accountId === null) ?? { id: 0 };
  expect(router.find('SMS', '+393331234567', traffic())).toMatchObject({
    onUnknown: 'resubmit',
    reason: `route ${id}: prefix 39`,
  });
  expect(router.find('SMS', '+393331234567', traffic({ accountId: 8 }))).toMatchObject({
    onUnknown: 'hold',
    reason: expect.stringContaining('prefix 39, account 8'),
  });
  await db.deleteRoutesOf(pool, { connectionId: connectionIds[1] ?? 0 });
  await router.reload();
  expect(router.find('SMS', '+393331234567', traffic()).reason).toBeNull();
});

test('an explanation names every route that begins like the number, and why it is not used', async () => {
  await add('', 0);
  await add('39', 0);
  await addFor('39', 1, { accountId: 8, sender: 'ACME' });
  await addFor('39', 2, { accountId: 7 });
  await add('44', 1);
  const router = createRouter(pool);
  await router.reload();
  const asked = { destination: '+393331234567', accountId: 7, sender: null, network: null, at: null };
  const { prefix, routes, reason } = router.explain(asked);
  expect({ prefix, reason }).toEqual({ prefix: '39', reason: expect.stringContaining('prefix 39, account 7') });
  expect(routes.map((r) => [r.prefix, r.connection, r.place, r.obstacles])).toEqual([
    ['39', 'three', 1, []],
    ['39', 'one', 2, []],
    ['39', 'two', null, ['account', 'sender']],
    ['', 'one', null, ['prefix']],
  ]);
  expect(router.explain({ ...asked, destination: '+33612345678' }).routes).toMatchObject([{ prefix: '', place: 1 }]);
});

test('there is no connection without a route, or before the first reload', async () => {
  await add('39', 0);
  expect(wayOf(createRouter(pool), '+393331234567')).toEqual([]);
  expect((await route())('+351912345678')).toBeNull();
});

test('a change, also a removal, takes effect after the next reload', async () => {
  const { id } = await add('39', 0);
  const router = createRouter(pool);
  await router.reload();
  expect(await db.deleteRoute(pool, { id })).toMatchObject({ prefix: '39', priority: 100 });
  expect(await db.deleteRoute(pool, { id })).toBeUndefined();
  expect(wayOf(router, '+393331234567')).toEqual([connectionIds[0]]);
  await router.reload();
  expect(wayOf(router, '+393331234567')).toEqual([]);
});

test('adding a route again changes its priority and creates no second one', async () => {
  const first = await add('39', 0, 100);
  expect(await add('39', 0, 5)).toEqual(first);
  expect(await db.listRoutes(pool)).toMatchObject([{ id: first.id, priority: 5, connection: 'one' }]);
});

test('adding a route with the same conditions again changes it, one with others is another route', async () => {
  const first = await addFor('39', 0, { accountId: 7 });
  expect(await addFor('39', 0, { accountId: 7 }, { priority: 5, weight: 10 })).toEqual(first);
  const second = await addFor('39', 0, { accountId: 8 });
  const plainOne = await add('39', 0);
  expect(new Set([first.id, second.id, plainOne.id]).size).toBe(3);
  expect(await db.listRoutes(pool)).toMatchObject([
    { id: first.id, accountId: 7, priority: 5, weight: 10, order: 1 },
    { id: second.id, accountId: 8, order: 2 },
    { id: plainOne.id, accountId: null, order: 3 },
  ]);
  expect(await db.deleteRoute(pool, first)).toBeUndefined();
  expect(await db.deleteConditionalRoute(pool, first)).toMatchObject({ prefix: '39', accountId: 7, weight: 10 });
  expect(await db.deleteConditionalRoute(pool, first)).toBeUndefined();
});

test('the routes of one connection are deleted together', async () => {
  await addFor('49', 0, { accountId: 7 });
  await add('39', 0);
  await add('351', 0);
  await add('', 1);
  expect(await countUses(pool, { connectionId: connectionIds[0] ?? 0 })).toMatchObject({ routes: 3 });
  expect(await db.deleteRoutesOf(pool, { connectionId: connectionIds[0] ?? 0 })).toBe(3);
  expect((await db.listRoutes(pool)).map((r) => r.prefix)).toEqual(['']);
});

test('routes are listed in the order in which they decide', async () => {
  await add('', 0);
  await add('393', 1);
  await add('39', 2, 50);
  await add('39', 1, 10);
  const order = (await db.listRoutes(pool)).map((r) => `${r.prefix}/${r.priority}`);
  expect(order).toEqual(['393/100', '39/10', '39/50', '/100']);
});

test('a paused connection keeps its routes: its messages wait for it', async () => {
  await add('', 0);
  await moveConnectionStatus(pool, { name: 'one', status: 'paused' });
  expect((await route())('+393331234567')).toBe(0);
  await moveConnectionStatus(pool, { name: 'one', status: 'active' });
});

test('every process is notified of a change', async () => {
  const heard: string[] = [];
  const session = await openWorkerSession({ connectionString, log: silentLog });
  await session.listen({ [ROUTING_CHANNEL]: (payload) => void heard.push(payload) });
  await notifyRoutingChange(pool);
  await expect.poll(() => heard).toEqual(['']);
  await session.close();
});

const digits = (max: number) =>
  fc.array(fc.constantFrom('1', '2', '3'), { maxLength: max, size: 'max' }).map((list) => list.join(''));

propertyTest.prop(
  [
    fc.array(fc.record({ prefix: digits(5), connection: fc.nat(2), priority: fc.nat(3) }), { maxLength: 12 }),
    fc.array(digits(9), { maxLength: 10 }),
  ],
  { numRuns: runs(15) },
)('gives the result that a search of the whole list would', async (routes, numbers) => {
  await reset(pool, sql`TRUNCATE route, conditional_route`);
  for (const { prefix, connection, priority } of routes) await add(prefix, connection, priority);
  const find = await route();
  const listed = await db.listRoutes(pool);
  for (const number of numbers) {
    const best = listed
      .filter((r) => number.startsWith(r.prefix))
      .sort((a, b) => b.prefix.length - a.prefix.length || a.priority - b.priority || a.id - b.id)[0];
    expect(find(`+${number}`)).toBe(best ? connectionIds.indexOf(best.connectionId) : null);
  }
});
