import type { Pool } from 'pg';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { type Replicated, startReplicated } from '../../test/support/replication.ts';
import { until } from '../../test/support/until.ts';
import { MIGRATIONS_DIR, migrate } from '../core/db/migrate.ts';
import { createPool } from '../core/db/pool.ts';
import { one, sql } from '../core/db/query.ts';
import { silentLog } from '../core/log.ts';
import { createAccount } from '../operate/account-commands.ts';
import { openSource } from './make.ts';
import { type ExportRow, insertExport } from './store.ts';

let replicated: Replicated;
let pool: Pool;
let accountId: number;
beforeAll(async () => {
  replicated = await startReplicated({ standbys: 1 });
  pool = createPool(replicated.servers[0]?.url ?? '', { max: 2, applicationName: 'test', log: silentLog });
  await migrate(pool, { dir: MIGRATIONS_DIR, log: silentLog });
  ({ accountId } = await createAccount(pool, { name: 'Acme', plan: 'unlimited' }));
}, 120_000);
afterAll(async () => {
  await pool.end();
  await replicated.stop();
});

const request = (): Promise<ExportRow> =>
  insertExport(pool, { accountId, type: 'CONTACTS', format: 'csv', filters: {} });

/** Returns the server from which the export is read. */
async function sourceOf(row: ExportRow, failures = 0): Promise<'primary' | 'standby'> {
  const [primary, standby] = replicated.servers;
  const deps = { connectionString: primary?.url ?? '', standbysUrl: standby?.url, log: silentLog };
  const snapshot = await openSource(deps, row, failures);
  onTestFinished(snapshot.close);
  const { standby: isStandby } = await one<{ standby: boolean }>(
    snapshot.db,
    sql`SELECT pg_is_in_recovery() AS standby`,
  );
  return isStandby ? 'standby' : 'primary';
}

test('an export is read from the standby that has received its request', async () => {
  // Not immediately on a busy machine: an export waits for a standby only for a short time.
  await until('an export from the standby', async () => (await sourceOf(await request())) === 'standby');
}, 120_000);

test('after a failed attempt it is read from the primary, since a standby may cancel long reads', async () => {
  expect(await sourceOf(await request(), 1)).toBe('primary');
});

test('it is read from the primary while the standby is behind or away', async () => {
  const drop = await replicated.servers[1]?.freeze();
  expect(await sourceOf(await request())).toBe('primary');
  drop?.();
  await replicated.servers[1]?.kill();
  expect(await sourceOf(await request())).toBe('primary');
}, 60_000);
