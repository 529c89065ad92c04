import { expect, test } from 'vitest';
import { withEarlierMigrations } from '../../../test/support/earlier-migrations.ts';
import { many, one, sql } from '../../platform/db/query.ts';
import { timeOfId } from '../../platform/lib/ids.ts';
import { claimJob, findExport, insertExport, insertJob, listExports } from './sql.ts';

test('stored exports keep their order, files and jobs, and their new ids have the time of their requests', () =>
  withEarlierMigrations('0064_export_ids', async ({ pool, migrate }) => {
    const { accountId } = await one<{ accountId: number }>(
      pool,
      sql`INSERT INTO account (name) VALUES ('Acme') RETURNING id AS "accountId"`,
    );
    // Two of them were requested within a millisecond.
    const times = ['2026-11-20T10:00:00.123Z', '2026-11-20T10:00:00.123Z', '2026-11-20T10:00:00.124999Z'];
    await many(
      pool,
      sql`WITH made AS (
            INSERT INTO export (account_id, type, format, status, filters, rows, size_bytes, file_key, expires_at, created_at)
            SELECT ${accountId}, 'CONTACTS', 'csv', CASE WHEN n = 1 THEN 'COMPLETED' ELSE 'PENDING' END, '{}', n, 7,
                   'file', now() + interval '1 day', at
            FROM unnest(${times}::timestamptz[]) WITH ORDINALITY AS u (at, n) ORDER BY n RETURNING id, account_id, status)
          INSERT INTO export_job (export_id, account_id, owner) SELECT id, account_id, 5 FROM made WHERE status = 'PENDING'`,
    );
    await migrate();
    const newest = await listExports(pool, { accountId, limit: 10, offset: 0 });
    const [third, second, first] = newest;
    expect(newest.map(({ rows }) => rows)).toEqual([3, 2, 1]);
    expect(newest.map(({ id }) => timeOfId(id).toISOString())).toEqual([
      '2026-11-20T10:00:00.124Z',
      '2026-11-20T10:00:00.123Z',
      '2026-11-20T10:00:00.123Z',
    ]);
    for (const { id } of newest) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(first).toMatchObject({ status: 'COMPLETED', fileKey: 'file', version: 1 });
    const claim = () => claimJob(pool, { owner: 1, busyAccounts: [], servedAccounts: [] });
    const claimed = await many<{ id: string }>(pool, sql`SELECT export_id AS id FROM export_job ORDER BY due_at, id`);
    expect(claimed.map(({ id }) => id)).toEqual([second?.id, third?.id]);
    expect(await claim()).toMatchObject({ exportId: second?.id, accountId });
    const made = await insertExport(pool, { accountId, type: 'CONTACTS', filters: {}, format: 'csv' });
    await insertJob(pool, { accountId, exportId: made.id });
    expect((await listExports(pool, { accountId, limit: 1, offset: 0 }))[0]?.id).toBe(made.id);
    expect(await findExport(pool, { accountId, id: made.id })).toEqual(made);
  }));
