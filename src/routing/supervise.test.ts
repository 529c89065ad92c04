import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { createScriptedCarrier } from '../../test/support/carriers/scripted-carrier.ts';
import { testDatabase } from '../../test/support/database.ts';
import { receipt } from '../../test/support/receipts.ts';
import { reset } from '../../test/support/reset.ts';
import type { CarrierHost } from '../channels/carrier.ts';
import { exec, many, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { openWorkerSession } from '../core/db/worker-session.ts';
import { silentLog } from '../core/log.ts';
import * as db from './connection-store.ts';
import { type SuperviseDeps, superviseConnections } from './supervise.ts';

const { pool, connectionString } = testDatabase();

beforeEach(() => reset(pool, sql`TRUNCATE connection, connection_status RESTART IDENTITY CASCADE`));

const OWNER = 99;
const insert = (name: string, sandbox = false) =>
  db.insertConnection(pool, { name, kind: 'smpp', sandbox, settings: {} });
const change = (id: number) => db.updateConnectionSettings(pool, { id, settings: {}, secret: Buffer.of(1) });

/** A supervisor whose starts and stops the test sees; a stop ends when `stopping` does. */
function supervised(more: Partial<SuperviseDeps> = {}, stopping: Promise<void> = Promise.resolve()) {
  const events: string[] = [];
  /** Last number of workers that share the rate of each connection. */
  const shares = new Map<string, number>();
  const hosts = new Map<string, CarrierHost>();
  const carriers = new Map<string, ReturnType<typeof createScriptedCarrier>>();
  const supervisor = superviseConnections({
    pool,
    owner: OWNER,
    log: silentLog,
    sandbox: () => true,
    makeCarrier: ({ name }) => {
      const carrier = createScriptedCarrier();
      carrier.start = (host) => {
        hosts.set(name, host);
        carrier.onChange = host.changed;
      };
      carriers.set(name, carrier);
      return carrier;
    },
    startPump: ({ name, version }) => {
      events.push(`start ${name} ${version}`);
      return {
        reserve: () => null,
        wake: () => events.push(`wake ${name}`),
        wakeForRoom: () => events.push(`room ${name}`),
        settled: async () => undefined,
        shareRate: (workers) => void shares.set(name, workers),
        counts: () => ({ inFlight: 0, held: 0 }),
        stop: async () => {
          await stopping;
          events.push(`stop ${name} ${version}`);
        },
      };
    },
    onReceipt: async (id) => void events.push(`receipt ${id}`),
    onInbound: async (id) => void events.push(`inbound ${id}`),
    ...more,
  });
  onTestFinished(() => supervisor.stop(100));
  const names = (): string[] => supervisor.list().map((run) => run.connection.name);
  return { supervisor, events, shares, hosts, carriers, names };
}

test('active connections run, paused ones do not, and a reload without a change touches nothing', async () => {
  await insert('one');
  await insert('two');
  await db.moveConnectionStatus(pool, { name: 'two', status: 'paused' });
  const { supervisor, events } = supervised();
  await supervisor.reload();
  await supervisor.reload();
  expect(events).toEqual(['start one 1']);
});

test('sandbox connections run only while the sandbox does', async () => {
  await insert('sandbox', true);
  let on = false;
  const { supervisor, names } = supervised({ sandbox: () => on });
  await supervisor.reload();
  expect(names()).toEqual([]);
  on = true;
  await supervisor.reload();
  expect(names()).toEqual(['sandbox']);
});

test('a change is followed without a restart of the others: the old one ends before the new one starts', async () => {
  await insert('one');
  await insert('two');
  const { supervisor, events } = supervised();
  await supervisor.reload();
  await change(2);
  await insert('three');
  await supervisor.reload();
  expect(events).toEqual(['start one 1', 'start two 1', 'stop two 1', 'start two 2', 'start three 1']);
  await db.moveConnectionStatus(pool, { name: 'one', status: 'paused' });
  await supervisor.reload();
  expect(events.at(-1)).toBe('stop one 1');
});

test('reloads at the same time start each connection once', async () => {
  await insert('one');
  const { supervisor, events } = supervised();
  await Promise.all([supervisor.reload(), supervisor.reload(), supervisor.reload()]);
  expect(events).toEqual(['start one 1']);
});

test('a connection that cannot be started is logged, and the others run', async () => {
  await insert('broken');
  await insert('good');
  const told: object[] = [];
  const { supervisor, names } = supervised({
    makeCarrier: ({ name }) => {
      if (name === 'broken') throw new Error('sealed with another key');
      return createScriptedCarrier();
    },
    log: { ...silentLog, error: (fields) => void told.push(fields) },
  });
  await supervisor.reload();
  expect(names()).toEqual(['good']);
  expect(told).toMatchObject([{ connection: 'broken' }]);
});

test('an unavailable database is logged, and running connections continue', async () => {
  await insert('one');
  const told: string[] = [];
  let away = false;
  const flaky = new Proxy(pool, {
    get: (target, name) =>
      name === 'query' && away ? () => Promise.reject(new Error('away')) : Reflect.get(target, name),
  });
  const log = { ...silentLog, error: (_: object, message: string) => void told.push(message) };
  const { supervisor, names } = supervised({ pool: flaky, log });
  await supervisor.reload();
  away = true;
  await supervisor.reload();
  expect(told).toEqual(['cannot read the connections']);
  expect(names()).toEqual(['one']);
  away = false;
  await insert('two');
  await supervisor.reload();
  expect(names()).toEqual(['one', 'two']);
});

test('events of a carrier are passed on with the id of its connection', async () => {
  await insert('one');
  await insert('two');
  const { supervisor, events, hosts } = supervised();
  await supervisor.reload();
  await hosts.get('two')?.receipt(receipt('A1'));
  const inbound = { source: '1', destination: '2', text: 'x', concat: null, raw: Buffer.of() };
  await hosts.get('one')?.inbound(inbound);
  expect(events.slice(2)).toEqual(['receipt 2', 'inbound 1']);
});

test('a change of the state is stored at once; a free slot only wakes the pump', async () => {
  await insert('one');
  const { supervisor, events, carriers } = supervised();
  await supervisor.reload();
  const up = async () => (await db.listConnectionStatus(pool))[0]?.up;
  carriers.get('one')?.onChange();
  await expect.poll(up).toBe(true);
  carriers.get('one')?.setUp(false);
  await expect.poll(up).toBe(false);
  await exec(pool, sql`UPDATE connection_status SET fault = 'not written again'`);
  carriers.get('one')?.onChange();
  expect(events).toEqual(['start one 1', 'wake one', 'wake one', 'room one']);
  carriers.get('one')?.setUp(true);
  await expect.poll(up).toBe(true);
  expect((await db.listConnectionStatus(pool))[0]?.fault).toBeNull();
});

test('a report stores what this worker sees, and deletes what dead workers saw', async () => {
  await insert('one');
  const dead = { connectionId: 1, worker: 5, up: true, bindsUp: 9, bindsWanted: 9, fault: null };
  await db.insertConnectionStatus(pool, dead);
  await exec(pool, sql`UPDATE connection_status SET updated_at = now() - interval '2 minutes'`);
  const { supervisor } = supervised();
  await supervisor.reload();
  await supervisor.report();
  expect(await db.listConnectionStatus(pool)).toMatchObject([{ up: true, bindsUp: 1, bindsWanted: 1 }]);
  expect(await db.deleteStaleConnectionStatus(pool)).toBe(0);
});

const lastErrorOf = async () => (await db.listConnectionStatus(pool))[0]?.lastError;

test('the reason why a link is down stays until all links are up', async () => {
  await insert('one');
  const { supervisor, hosts, carriers } = supervised();
  await supervisor.reload();
  carriers.get('one')?.setUp(false);
  hosts.get('one')?.failed('connect ECONNREFUSED');
  await expect.poll(lastErrorOf).toBe('connect ECONNREFUSED');
  await supervisor.report();
  expect(await lastErrorOf()).toBe('connect ECONNREFUSED');
  carriers.get('one')?.setUp(true);
  await expect.poll(lastErrorOf).toBeNull();
});

test('the reason survives a restart of the worker, and a report deletes it when the change was missed', async () => {
  await insert('one');
  const before = supervised();
  await before.supervisor.reload();
  before.hosts.get('one')?.failed('The carrier refused the bind');
  await expect.poll(lastErrorOf).toBe('The carrier refused the bind');
  await before.supervisor.stop(100);
  const after = supervised({ owner: OWNER + 1 });
  await after.supervisor.reload();
  expect(await lastErrorOf()).toBe('The carrier refused the bind');
  await after.supervisor.report();
  expect(await lastErrorOf()).toBeNull();
});

test('a connection that cannot be started shows the reason as its last error', async () => {
  await insert('broken');
  const { supervisor } = supervised({
    makeCarrier: () => {
      throw new Error('sealed with another key');
    },
  });
  await supervisor.reload();
  await expect.poll(lastErrorOf).toBe('cannot be started: sealed with another key');
});

test('the rate is divided among the workers that have the connection up, from the start', async () => {
  await insert('one');
  await insert('two');
  const other = { connectionId: 1, worker: 5, up: true, bindsUp: 1, bindsWanted: 1, fault: null };
  await db.insertConnectionStatus(pool, other);
  const { supervisor, shares } = supervised();
  await supervisor.reload();
  expect(Object.fromEntries(shares)).toEqual({ one: 2, two: 1 });
  await db.insertConnectionStatus(pool, { ...other, worker: 6 });
  await db.insertConnectionStatus(pool, { ...other, worker: 7, up: false, bindsUp: 0 });
  await supervisor.report();
  await supervisor.shareRates();
  expect(Object.fromEntries(shares)).toEqual({ one: 3, two: 1 });
  await db.deleteConnectionStatus(pool, { connectionId: 1, worker: 5 });
  await supervisor.shareRates();
  expect(shares.get('one')).toBe(2);
});

test('other workers are notified of a change that a worker sees, and of its end', async () => {
  await insert('one');
  const { supervisor, carriers } = supervised();
  await supervisor.reload();
  let heard = 0;
  const session = await openWorkerSession({ connectionString, log: silentLog });
  await session.listen({ [db.LINKS_CHANNEL]: () => void heard++ });
  onTestFinished(() => session.close());
  carriers.get('one')?.setUp(false);
  await expect.poll(() => heard).toBe(1);
  await supervisor.stop(100);
  await expect.poll(() => heard).toBe(2);
});

test('stop ends everything and deletes what this worker saw', async () => {
  await insert('one');
  await insert('two');
  const { supervisor, events, names } = supervised();
  await supervisor.reload();
  await supervisor.report();
  await supervisor.stop(100);
  expect(events.slice(2).sort()).toEqual(['stop one 1', 'stop two 1']);
  expect(names()).toEqual([]);
  expect(await db.listConnectionStatus(pool)).toMatchObject([{ up: false }, { up: false }]);
});

test('a stop waits for the reports that are being stored', async () => {
  await insert('one');
  const { supervisor, hosts } = supervised();
  await supervisor.reload();
  await supervisor.report();
  const reports = () => many(pool, sql`SELECT FROM connection_error`);
  const states = () => many(pool, sql`SELECT FROM connection_status`);
  const stopping = await transaction(pool, async (tx) => {
    await exec(tx, sql`LOCK TABLE connection_error IN SHARE MODE`);
    hosts.get('one')?.failed('connect ECONNREFUSED');
    const stop = supervisor.stop(100);
    await expect.poll(states).toEqual([]);
    return { stop };
  });
  await stopping.stop;
  expect(await reports()).toHaveLength(1);
});

test('a change during or after a stop starts nothing', async () => {
  await insert('one');
  const { promise, resolve } = Promise.withResolvers<void>();
  const { supervisor, events } = supervised({}, promise);
  await supervisor.reload();
  const stopping = supervisor.stop(100);
  await change(1);
  await supervisor.reload();
  resolve();
  await stopping;
  await supervisor.reload();
  expect(events).toEqual(['start one 1', 'stop one 1']);
});
