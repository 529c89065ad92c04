import { expect, test } from 'vitest';
import { withEarlierMigrations } from '../../test/support/earlier-migrations.ts';
import { exec, many, one, sql } from '../platform/db/query.ts';
import { SCOPES } from '../platform/lib/scope.ts';

const EARLIER = SCOPES.filter((scope) => scope !== 'money' && scope !== 'social');

test('stored users get the new roles, and only keys that had all scopes get the new ones', () =>
  withEarlierMigrations('0044_scopes_and_roles', async ({ pool, migrate }) => {
    const { id } = await one<{ id: number }>(pool, sql`INSERT INTO account (name) VALUES ('Acme') RETURNING id`);
    for (const role of ['owner', 'admin', 'operator', 'viewer'])
      await exec(
        pool,
        sql`INSERT INTO app_user (account_id, username, password_hash, role) VALUES (${id}, ${role}, 'x', ${role})`,
      );
    const stored = [EARLIER, EARLIER.slice(1), ['SMS'], [...EARLIER].reverse(), []];
    for (const [index, operations] of stored.entries())
      await exec(
        pool,
        sql`INSERT INTO api_key (account_id, name, operations) VALUES (${id}, ${String(index)}, ${operations})`,
      );
    await migrate();
    expect(await many(pool, sql`SELECT username, role FROM app_user ORDER BY id`)).toEqual([
      { username: 'owner', role: 'admin' },
      { username: 'admin', role: 'admin' },
      { username: 'operator', role: 'manager' },
      { username: 'viewer', role: 'viewer' },
    ]);
    const keys = await many<{ operations: string[] }>(pool, sql`SELECT operations FROM api_key ORDER BY id`);
    const all = [...SCOPES].sort();
    expect(keys.map(({ operations }) => operations.sort())).toEqual([all, EARLIER.slice(1).sort(), ['SMS'], all, []]);
    for (const role of ['owner', 'operator'])
      await expect(exec(pool, sql`UPDATE app_user SET role = ${role}`)).rejects.toMatchObject({ code: '23514' });
  }));
