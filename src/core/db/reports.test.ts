import { isDeepStrictEqual } from 'node:util';
import type { Pool } from 'pg';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { type Replicated, startReplicated } from '../../../test/support/replication.ts';
import { until } from '../../../test/support/until.ts';
import { silentLog } from '../log.ts';
import { MIGRATIONS_DIR, migrate } from './migrate.ts';
import { createPool } from './pool.ts';
import { type Db, one, sql } from './query.ts';
import { createReports, type Reports } from './reports.ts';

let replicated: Replicated;
let pool: Pool;
beforeAll(async () => {
  replicated = await startReplicated({ standbys: 2 });
  pool = createPool(urlOf(0), { max: 4, applicationName: 'test', log: silentLog });
  await migrate(pool, { dir: MIGRATIONS_DIR, log: silentLog });
  await pool.query('CREATE TABLE written (id int PRIMARY KEY); GRANT SELECT ON written TO heliograph_tenant');
}, 120_000);
afterAll(async () => {
  await pool.end();
  await replicated.stop();
});
beforeEach(() => pool.query('TRUNCATE written'));

const urlOf = (i: number): string => replicated.servers[i]?.url ?? '';
const bothStandbys = (): string => replicated.url.replace(`${new URL(urlOf(0)).host},`, '');

function open(standbysUrl: string | undefined): Reports {
  const reports = createReports({ pool, standbysUrl, log: silentLog });
  onTestFinished(reports.close);
  return reports;
}

const READER = { accountId: 1 };
type Server = { standby: boolean; port: string; role: string };
const findServer = (db: Db): Promise<Server> =>
  one(db, sql`SELECT pg_is_in_recovery() AS standby, current_setting('port') AS port, current_user::text AS role`);

/** Resolves with a report of a standby: on a busy machine, one may be too far behind at first. */
const fromStandby = (standbysUrl: string) =>
  until('a report from a standby', async () => {
    const report = await open(standbysUrl).read(READER, findServer);
    return report.value.standby && report;
  });

test('a report is read from a standby with the rights of the account, and says how old it may be', async () => {
  const { value, ageMs } = await fromStandby(urlOf(1));
  expect(value.role).toBe('heliograph_tenant');
  expect(ageMs).toBeGreaterThanOrEqual(0);
  expect(ageMs).toBeLessThanOrEqual(10_000);
}, 120_000);

test('what was committed before that age is in the report', async () => {
  const reports = open(urlOf(1));
  const committed: number[] = [];
  for (let id = 0; id < 200; id++) {
    await pool.query('INSERT INTO written VALUES ($1)', [id]);
    committed.push(performance.now());
    const asked = performance.now();
    const report = await reports.read(READER, (db) => one<{ n: number }>(db, sql`SELECT count(*) AS n FROM written`));
    const expected = committed.filter((at) => at < asked - (report.ageMs ?? 0)).length;
    expect(report.value.n).toBeGreaterThanOrEqual(expected);
  }
});

test('without a standby, a report comes from the primary and is up to date', async () => {
  expect(await open(undefined).read(READER, findServer)).toMatchObject({ value: { standby: false }, ageMs: undefined });
});

test('several standbys take turns', async () => {
  const expected = [1, 2].map((i) => new URL(urlOf(i)).port).toSorted();
  await until('a turn of each', async () => {
    const reports = open(bothStandbys());
    const ports: string[] = [];
    for (let i = 0; i < 2; i++) ports.push((await reports.read(READER, findServer)).value.port);
    return isDeepStrictEqual(ports.toSorted(), expected);
  });
}, 120_000);

test('what a standby lacks or cannot do is read from the primary', async () => {
  const { value, ageMs } = await open(urlOf(1)).read(READER, async (db) => {
    const found = await findServer(db);
    if (found.standby) throw new Error('not there yet');
    return found;
  });
  expect([value.standby, ageMs]).toEqual([false, undefined]);
  const failing = open(urlOf(1)).read(READER, () => Promise.reject(new Error('nowhere')));
  await expect(failing).rejects.toThrow('nowhere');
});

test('a server of DATABASE_URL_READ that is no standby is not taken for one', async () => {
  expect(await open(urlOf(0)).read(READER, findServer)).toMatchObject({ ageMs: undefined });
});

test('while a standby is far behind or away, the primary is read, and the other standby if there is one', async () => {
  const drop = await replicated.servers[1]?.freeze();
  await pool.query('INSERT INTO written VALUES (1)');
  expect((await open(urlOf(1)).read(READER, findServer)).value.standby).toBe(false);
  drop?.();
  await replicated.servers[1]?.kill();
  expect((await open(urlOf(1)).read(READER, findServer)).value.standby).toBe(false);
  for (let i = 0; i < 3; i++) expect((await fromStandby(bothStandbys())).value.port).toBe(new URL(urlOf(2)).port);
}, 120_000);
