import { beforeAll, expect, test } from 'vitest';
import { type CommandResult, commandsOn } from '../../test/support/command.ts';
import { testDatabase } from '../../test/support/database.ts';
import { exec, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { createGuard } from '../core/outbound.ts';
import { createSecretKey } from '../core/secrets.ts';
import { registerOperations } from '../operations.ts';
import { addTarget } from './alert-targets.ts';

const database = testDatabase();
const { pool } = database;

let run: (...args: string[]) => Promise<CommandResult>;
beforeAll(() => {
  run = commandsOn(database, registerOperations);
});

test('alerts list fails while a problem is open, and not once alerts ack has acknowledged it', async () => {
  expect(await run('alerts', 'list')).toMatchObject({ code: 0, answer: { data: [] } });
  await exec(
    pool,
    sql`INSERT INTO alert (kind, place, severity, told_severity, subject, subject_id, count, accounts, since, state, fired_at)
        VALUES ('connection_down', '1', 'error', 'error', 'main', 1, 200, 2, now(), 'firing', now())`,
  );
  // A command that finds a problem prints it, and exits with code 1.
  const { code, stdout } = await run('alerts', 'list');
  expect(code).toBe(1);
  const { data }: { data: { id: number }[] } = JSON.parse(stdout);
  expect(data).toMatchObject([{ title: 'main is down; 200 messages of 2 accounts waiting', state: 'firing' }]);
  const id = data[0]?.id ?? 0;
  expect(await run('alerts', 'ack', String(id))).toMatchObject({ code: 0 });
  expect((await run('alerts', 'ack', String(id))).code).toBe(1);
  expect(await run('alerts', 'list')).toMatchObject({ code: 0, answer: { data: [{ state: 'acknowledged' }] } });
  await exec(pool, sql`UPDATE alert SET state = 'resolved', resolved_at = now()`);
  expect((await run('alerts', 'list')).answer).toMatchObject({ data: [] });
  expect((await run('alerts', 'list', '--state', 'resolved')).answer).toMatchObject({ data: [{ id }] });
});

test('alerts test names the recipients that cannot be reached and the reasons', async () => {
  const outside = {
    secretKey: createSecretKey(Buffer.alloc(32, 7)),
    guard: createGuard({ allowedBlocks: [], ports: [] }),
  };
  const choice = { severity: 'error', language: 'en', quietFrom: null, quietTo: null, timeZone: 'UTC' } as const;
  const { id } = await transaction(pool, (tx) =>
    addTarget(tx, outside, { kind: 'mail', address: 'ops@example.com', ...choice, breaksQuiet: false, by: 'op' }),
  );
  const { code, stdout } = await run('alerts', 'test', String(id));
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toEqual({ ok: false, detail: 'SMTP_URL is not set' });
});
