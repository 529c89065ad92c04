import { expect, test } from 'vitest';
import { commandsOn } from '../../test/support/command.ts';
import { createTestDatabase } from '../../test/support/database.ts';
import { many, sql } from '../core/db/query.ts';
import { registerAccountCommands } from '../operate/account-commands.ts';
import { registerOperations } from '../operations.ts';

test("an operator's changes to an account are in its audit log, and those without effect are not", async () => {
  await using database = await createTestDatabase();
  const run = commandsOn(database, registerAccountCommands, registerOperations);
  await run('account', 'create', '--name', 'Acme', '--credit', '5');
  await run('credit', 'add', 'Acme', '12.5', '--reference', 'invoice 7');
  await run('account', 'suspend', 'Acme');
  await run('account', 'suspend', 'Acme');
  await run('account', 'resume', 'Acme');
  const { answer } = await run('key', 'create', '--account', 'Acme', '--operations', 'SMS');
  const { id, apiKey } = answer as { id: number; apiKey: string };
  await run('key', 'revoke', String(id), '--account', 'Acme');
  expect((await run('key', 'revoke', String(id), '--account', 'Acme')).code).toBe(1);
  const entries = await many<{ kind: string; action: string; detail: object }>(
    database.pool,
    sql`SELECT actor_kind AS kind, action, detail FROM audit_entry ORDER BY id`,
  );
  expect(entries.map(({ action }) => action)).toEqual([
    'account.create',
    'api-key.create',
    'credit.add',
    'account.suspend',
    'account.resume',
    'api-key.create',
    'api-key.delete',
  ]);
  expect(entries.every(({ kind }) => kind === 'operator')).toBe(true);
  expect(entries[2]?.detail).toEqual({ micros: 12_500_000, reference: 'invoice 7' });
  expect(JSON.stringify(entries)).not.toContain(apiKey);
});
