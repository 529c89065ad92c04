import { fc, test as propertyTest } from '@fast-check/vitest';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import {
  insertConnection,
  moveConnectionStatus,
  ROUTING_CHANNEL,
  notifyRoutingChange,
  countUses,
} from '../connections/sql.ts';
import { createAccount } from '../../operations/accounts/create.ts';
import { sql } from '../../platform/db/query.ts';
import { insertSender } from '../senders/sql.ts';
import type { Channel } from '../../platform/lib/channel.ts';
import { openWorkerSession } from '../../platform/db/worker-session.ts';
import { silentLog } from '../../platform/lib/log.ts';
import { testDatabase } from '../../../test/support/database.ts';
import { reset } from '../../../test/support/reset.ts';
import { createRouter } from './router.ts';
import * as db from './sql.ts';

const { pool, connectionString } = testDatabase();

let connectionIds: number[];
beforeAll(async () => {
  const made = ['one', 'two', 'three'].map((name) =>
    insertConnection(pool, { name, kind: 'smpp', sandbox: false, settings: {} }),
  );
  connectionIds = (await Promise.all(made)).map((row) => row?.id ?? 0);
});
beforeEach(() => reset(pool, sql`TRUNCATE route`));

/** A route over one of the three connections, counted from 0. */
const add = (prefix: string, connection: number, priority = 100, channel: Channel = 'SMS') =>
  db.insertRoute(pool, { channel, prefix, connectionId: connectionIds[connection] ?? 0, priority });

/** The router after a reload, answering with connections counted from 0. */
async function route(): Promise<(destination: string, channel?: Channel) => number | null> {
  const router = createRouter(pool);
  await router.reload();
  return (destination, channel = 'SMS') => {
    const [id] = router.find(channel, destination);
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
  const named = (number: string) => router.find('SMS', number).map((id) => connectionIds.indexOf(id));
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
  expect(router.find('SMS', '+393331234567')).toEqual([connectionIds[0]]);
  expect(router.find('SMS', '+351912345678')).toEqual([made?.id]);
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
  expect(router.find('RCS', number, 'common')).toEqual([connectionId]);
  expect(router.find('WHATSAPP', number, '106')).toEqual([connectionId]);
  expect(router.find('WHATSAPP', number, 'common')).toEqual([]);
  expect(router.find('RCS', number)).toEqual([]);
  const may = (accountId: number): boolean[] => [
    router.maySend(accountId, 'RCS', 'common'),
    router.maySend(accountId, 'WHATSAPP', '106'),
    router.maySend(accountId, 'WHATSAPP', 'none'),
    router.maySend(accountId, 'SMS', 'Acme'),
  ];
  expect(may(account.accountId)).toEqual([true, true, false, true]);
  expect(may(account.accountId + 1)).toEqual([true, false, false, true]);
});

test('there is no connection without a route, or before the first reload', async () => {
  await add('39', 0);
  expect(createRouter(pool).find('SMS', '+393331234567')).toEqual([]);
  expect((await route())('+351912345678')).toBeNull();
});

test('a change, also a removal, takes effect after the next reload', async () => {
  const { id } = await add('39', 0);
  const router = createRouter(pool);
  await router.reload();
  expect(await db.deleteRoute(pool, { id })).toMatchObject({ prefix: '39', priority: 100 });
  expect(await db.deleteRoute(pool, { id })).toBeUndefined();
  expect(router.find('SMS', '+393331234567')).toEqual([connectionIds[0]]);
  await router.reload();
  expect(router.find('SMS', '+393331234567')).toEqual([]);
});

test('adding a route again changes its priority and creates no second one', async () => {
  const first = await add('39', 0, 100);
  expect(await add('39', 0, 5)).toEqual(first);
  expect(await db.listRoutes(pool)).toMatchObject([{ id: first.id, priority: 5, connection: 'one' }]);
});

test('the routes of one connection are deleted together', async () => {
  await add('39', 0);
  await add('351', 0);
  await add('', 1);
  expect(await countUses(pool, { connectionId: connectionIds[0] ?? 0 })).toMatchObject({ routes: 2 });
  expect(await db.deleteRoutesOf(pool, { connectionId: connectionIds[0] ?? 0 })).toBe(2);
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
  const session = await openWorkerSession({
    connectionString,
    channels: [ROUTING_CHANNEL],
    onNotify: (channel) => void heard.push(channel),
    log: silentLog,
  });
  await notifyRoutingChange(pool);
  await expect.poll(() => heard).toEqual([ROUTING_CHANNEL]);
  await session.close();
});

const digits = (max: number) =>
  fc.array(fc.constantFrom('1', '2', '3'), { maxLength: max, size: 'max' }).map((list) => list.join(''));

propertyTest.prop(
  [
    fc.array(fc.record({ prefix: digits(5), connection: fc.nat(2), priority: fc.nat(3) }), { maxLength: 12 }),
    fc.array(digits(9), { maxLength: 10 }),
  ],
  { numRuns: 40 },
)('answers as a search of the whole list would', async (routes, numbers) => {
  await reset(pool, sql`TRUNCATE route`);
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
