import { afterAll, beforeAll, expect, test } from 'vitest';
import { commandsOn } from '../../test/support/command.ts';
import { type Replicated, startReplicated } from '../../test/support/replication.ts';
import { until } from '../../test/support/until.ts';
import { createPool } from '../core/db/pool.ts';
import { exec, sql } from '../core/db/query.ts';
import { findWritability, listStandbys } from '../core/db/reports.ts';
import { silentLog } from '../core/log.ts';
import { createProbes, registerDoctorCommand } from '../probes.ts';
import { checkReadStandbys, checkStandbys } from './doctor-checks.ts';

let replicated: Replicated;
beforeAll(async () => {
  replicated = await startReplicated({ standbys: 2, synchronous: true });
}, 120_000);
afterAll(() => replicated.stop());

test('two synchronous standbys are well; one is not enough, and none makes commits wait, which readiness shows', async () => {
  const [primary, ...standbys] = replicated.servers;
  const pool = createPool(primary?.url ?? '', { max: 3, applicationName: 'test', log: silentLog });
  const found = () => checkStandbys(pool, replicated.url);
  const ready = async () =>
    createProbes(pool)
      .find(({ name }) => name === 'database')
      ?.check();

  const well = await until('both standbys are connected', () => found().then((one) => one.ok && one));
  expect(well.detail).toMatch(/^s1 synchronous, .* behind, s2 synchronous, .* behind$/);
  expect(await ready()).toEqual({ ok: true, detail: 'accepts writes' });

  const watcher = createPool(primary?.url ?? '', { max: 1, applicationName: 'test', log: silentLog });
  await exec(watcher, sql`CREATE ROLE watcher`);
  await exec(watcher, sql`SET ROLE watcher`);
  expect(await checkStandbys(watcher, replicated.url)).toMatchObject({
    detail: '2 standbys are connected, but this user lacks the right to see their synchronous state',
    advice: expect.stringContaining('GRANT pg_monitor'),
  });
  await watcher.end();

  await standbys[0]?.kill();
  const one = await until('one standby is missed', () => found().then((finding) => !finding.ok && finding));
  expect(one).toMatchObject({
    detail: '1 of 1 connected standbys are synchronous',
    advice: expect.stringMatching(/^Run two/),
  });

  await standbys[1]?.kill();
  // Until then the receiver of the killed server may still confirm a commit.
  await until('no standby is connected', () => listStandbys(pool).then((connected) => connected.length === 0));
  const written = exec(pool, sql`CREATE TABLE waits (id int)`);
  // More than one where autovacuum writes at this moment.
  const waiting = {
    ok: false,
    detail: expect.stringMatching(/^\d+ commits have waited for a standby for 2 s or more$/),
  };
  await until('the commit waits', () => findWritability(pool).then(({ waitingCommits }) => waitingCommits > 0));
  expect(await found()).toMatchObject(waiting);
  expect(await ready()).toEqual(waiting);

  await standbys[0]?.start();
  await written;
  expect(await ready()).toEqual({ ok: true, detail: 'accepts writes' });
  await pool.end();
}, 120_000);

test('a standby, asked for readiness, accepts no writes', async () => {
  const pool = createPool(replicated.servers[1]?.url ?? '', { max: 1, applicationName: 'test', log: silentLog });
  const [database] = createProbes(pool);
  expect(await database?.check()).toEqual({ ok: false, detail: 'accepts no writes' });
  await pool.end();
  const run = commandsOn({ connectionString: replicated.servers[1]?.url ?? '' }, registerDoctorCommand);
  const { code, stderr } = await run('doctor');
  expect(code).toBe(1);
  expect(stderr).toContain('accepts no writes: set DATABASE_URL to the primary');
});

test('the servers that reports are read from are standbys, close behind, and what is wrong with one is named', async () => {
  const [primary, standby] = replicated.servers.map(({ url }) => url);
  expect(await checkReadStandbys(undefined)).toEqual([]);
  expect(await checkReadStandbys(standby)).toMatchObject([{ ok: true, detail: expect.stringMatching(/ s behind$/) }]);
  expect(await checkReadStandbys(primary)).toMatchObject([{ ok: false, detail: 'it is not a standby' }]);
  const away = 'postgres://nobody@127.0.0.1:1/none';
  expect(await checkReadStandbys(away)).toMatchObject([
    { ok: false, name: 'reads from 127.0.0.1:1', detail: expect.stringContaining('in DATABASE_URL_READ') },
  ]);
});
