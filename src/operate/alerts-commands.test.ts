import { beforeAll, expect, test } from 'vitest';
import { type CommandResult, commandsOn } from '../../test/support/command.ts';
import { testDatabase } from '../../test/support/database.ts';
import { exec, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { createGuard } from '../core/outbound.ts';
import { createSecretKey } from '../core/secrets.ts';
import { addTarget } from './alert-targets.ts';
import { registerAlertCommands } from './alerts.ts';

const database = testDatabase();
const { pool } = database;

let run: (...args: string[]) => Promise<CommandResult>;
beforeAll(() => {
  run = commandsOn(database, registerAlertCommands);
});

test('alerts list fails while a problem is open, and not once alerts ack has acknowledged it', async () => {
  expect(await run('alerts', 'list')).toMatchObject({ code: 0, answer: [] });
  await exec(
    pool,
    sql`INSERT INTO alert (kind, place, severity, told_severity, subject, subject_id, count, accounts, since, state, fired_at)
        VALUES ('connection_down', '1', 'error', 'error', 'main', 1, 200, 2, now(), 'firing', now())`,
  );
  // A command that finds a problem prints it, and exits with code 1.
  const { code, stdout } = await run('alerts', 'list');
  expect(code).toBe(1);
  const answer: { id: number }[] = JSON.parse(stdout);
  expect(answer).toMatchObject([{ title: 'main is down; 200 messages of 2 accounts waiting', state: 'firing' }]);
  const id = answer[0]?.id ?? 0;
  expect(await run('alerts', 'ack', String(id))).toMatchObject({ code: 0, answer: { id, acknowledged: true } });
  expect((await run('alerts', 'ack', String(id))).code).toBe(1);
  expect(await run('alerts', 'list')).toMatchObject({ code: 0, answer: [{ state: 'acknowledged' }] });
  await exec(pool, sql`UPDATE alert SET state = 'resolved', resolved_at = now()`);
  expect((await run('alerts', 'list')).answer).toEqual([]);
  expect((await run('alerts', 'list', '--all')).answer).toMatchObject([{ id, state: 'resolved' }]);
});

test('alerts test says who cannot be told and why', async () => {
  expect(await run('alerts', 'test')).toMatchObject({ code: 0, answer: [] });
  const outside = {
    secretKey: createSecretKey(Buffer.alloc(32, 7)),
    guard: createGuard({ allowedBlocks: [], ports: [] }),
  };
  const choice = { severity: 'error', language: 'en', quietFrom: null, quietTo: null, timeZone: 'UTC' } as const;
  await transaction(pool, (tx) =>
    addTarget(tx, outside, { kind: 'mail', address: 'ops@example.com', ...choice, breaksQuiet: false, by: 'op' }),
  );
  const { code, stdout } = await run('alerts', 'test');
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject([
    { kind: 'mail', address: 'ops@example.com', ok: false, detail: 'SMTP_URL is not set' },
  ]);
});
