import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { type Replicated, startReplicated } from '../../../test/support/replication.ts';
import { until } from '../../../test/support/until.ts';
import { silentLog } from '../log.ts';
import { createPool, serversOf, waitForPrimary } from './pool.ts';
import { exec, many, one, sql } from './query.ts';
import { transaction } from './transaction.ts';
import { openWorkerSession } from './worker-session.ts';

let replicated: Replicated;
beforeAll(async () => {
  replicated = await startReplicated({ standbys: 1 });
}, 120_000);
afterAll(() => replicated.stop());

const portOf = (url: string): string => new URL(url).port;

test('one host is used without being asked', async () => {
  const servers = serversOf('postgres://nobody@127.0.0.1:1/none');
  expect(servers.areSeveral).toBe(false);
  expect(await servers.find()).toBe('postgres://nobody@127.0.0.1:1/none');
});

test('a start without a primary ends with a sentence that says what to do', async () => {
  const nobody = 'postgres://nobody@127.0.0.1:1,127.0.0.1:2/none';
  await expect(waitForPrimary(nobody, 50)).rejects.toThrow('None of the hosts in DATABASE_URL accepts writes');
});

test('a start with a standby and without its primary says what each of the hosts does', async () => {
  const { port } = new URL(replicated.servers[1]?.url ?? '');
  const url = (replicated.servers[1]?.url ?? '').replace(/@[^/]+/, `@127.0.0.1:1,127.0.0.1:${port}`);
  await expect(waitForPrimary(url, 3000)).rejects.toThrow(
    `(127.0.0.1:1 does not respond: ECONNREFUSED, 127.0.0.1:${port} accepts no writes): start the primary or promote a standby`,
  );
});

test('the host that accepts writes is found, wherever it stands in the list', async () => {
  const [primary, standby] = replicated.servers;
  if (!primary || !standby) throw new Error('two servers');
  const url = primary.url.replace(/@[^/]+/, `@127.0.0.1:${portOf(standby.url)},127.0.0.1:${portOf(primary.url)}`);
  expect(portOf(serversOf(url).current())).toBe(portOf(standby.url));
  expect(portOf(await serversOf(url).primary())).toBe(portOf(primary.url));
  expect(await serversOf(url).find()).toBe(serversOf(url).current());
});

test('when the primary dies, pool and worker session go on with the promoted standby', async () => {
  const [primary, standby] = replicated.servers;
  if (!primary || !standby) throw new Error('two servers');
  const pool = createPool(replicated.url, { max: 3, applicationName: 'test', log: silentLog });
  onTestFinished(() => pool.end());
  await exec(pool, sql`CREATE TABLE note (id int PRIMARY KEY)`);
  const heard: string[] = [];
  const session = await openWorkerSession({
    connectionString: replicated.url,
    log: silentLog,
  });
  await session.listen({ heliograph_routing: (payload) => void heard.push(payload) });
  onTestFinished(() => session.close());
  const write = (id: number) => transaction(pool, (tx) => exec(tx, sql`INSERT INTO note VALUES (${id})`));
  await write(1);
  const copy = createPool(standby.url, { max: 1, applicationName: 'test', log: silentLog });
  await until('the standby has the row', async () => {
    const rows = await many(copy, sql`SELECT FROM note`).catch(() => []);
    return rows.length === 1;
  });
  await copy.end();

  await primary.kill();
  // Sessions of a killed server live on for a moment.
  let id = 2;
  await until('the end of its sessions', () =>
    write(id++).then(
      () => false,
      () => true,
    ),
  );
  await standby.promote();

  await until('a write succeeds again', () =>
    write(0).then(
      () => true,
      () => false,
    ),
  );
  // Another session of the pool may still have to find out that its server is gone.
  const found = await until('a session with the promoted standby', () =>
    one(pool, sql`SELECT inet_server_port() AS port, count(*) FROM note WHERE id < 2`).catch(() => undefined),
  );
  expect(found).toEqual({ port: Number(portOf(standby.url)), count: 2 });
  await until('the session listens again', async () => {
    await exec(pool, sql`SELECT pg_notify('heliograph_routing', 'there')`);
    return heard.includes('there');
  });
}, 120_000);

test('a session whose server has become read-only is dropped', async () => {
  const writable = replicated.servers[1];
  if (!writable) throw new Error('two servers');
  const pool = createPool(writable.url, { max: 1, applicationName: 'test', log: silentLog });
  onTestFinished(() => pool.end());
  const pid = () => one<{ pid: number }>(pool, sql`SELECT pg_backend_pid() AS pid`);
  const before = await pid();
  await exec(pool, sql`SET default_transaction_read_only = on`);
  await expect(transaction(pool, (tx) => exec(tx, sql`CREATE TABLE never (id int)`))).rejects.toThrow(/read-only/);
  expect(await pid()).not.toEqual(before);
});

test('of two servers that accept writes the one that was promoted last is used, and sessions leave the other', async () => {
  const [later, earlier] = replicated.servers;
  if (!later || !earlier) throw new Error('two servers');
  await later.rebuild(earlier);
  const pool = createPool(replicated.url, { max: 2, applicationName: 'test', log: silentLog });
  onTestFinished(() => pool.end());
  const port = () => one<{ port: number }>(pool, sql`SELECT inet_server_port() AS port`);
  await until('the only one that accepts writes is used', () =>
    port().then(
      (found) => found.port === Number(portOf(earlier.url)),
      () => false,
    ),
  );
  await later.promote();
  // Nothing has ended the sessions of the other server, which still accepts writes.
  await until('the sessions have moved', () =>
    port().then(
      (found) => found.port === Number(portOf(later.url)),
      () => false,
    ),
  );
  const order = [earlier, later].map(({ url }) => new URL(url).host).join(',');
  const url = earlier.url.replace(new URL(earlier.url).host, order);
  expect(portOf(await serversOf(url).find())).toBe(portOf(later.url));
}, 120_000);
