import { expect, inject, test } from 'vitest';
import { loadConfig } from '../../src/core/config.ts';
import { createPool } from '../../src/core/db/pool.ts';
import { exec, one, sql } from '../../src/core/db/query.ts';
import { openWorkerSession } from '../../src/core/db/worker-session.ts';
import { silentLog } from '../../src/core/log.ts';
import { registerDoctorCommand } from '../../src/probes.ts';
import { startProgram } from '../../src/serve.ts';
import { commandsOn } from '../support/command.ts';
import { pgbouncerIsMissing, startPgbouncer } from '../support/pgbouncer.ts';
import { startTestProgram } from '../support/program.ts';
import { listTaken } from '../support/taken.ts';
import { until } from '../support/until.ts';

const missing = pgbouncerIsMissing();

const NUMBERS = Array.from({ length: 500 }, (_, i) => `+39333${String(i).padStart(6, '0')}`);

test('an api and a worker send and take receipts through PgBouncer in session mode', async ({ skip }) => {
  if (missing !== undefined) return skip(missing);
  await using pooler = await startPgbouncer(inject('clusterUrl'), 'session');
  await using program = await startTestProgram({ through: pooler.through, roles: { worker: false } });
  const worker = await startProgram(loadConfig({ ...program.environment }), {
    api: false,
    worker: true,
    sandbox: false,
  });
  const single = await program.client.send({ phoneNumber: '+393331234567', message: 'Hello' });
  const { accepted, results } = await program.client.bulk({
    messages: [{ destinations: NUMBERS, sender: 'Acme', body: 'Hello all' }],
  });
  expect(accepted).toBe(NUMBERS.length);
  const ids = [single.messageId, ...results.map(({ id }) => id)].flatMap((id) => id ?? []);
  await program.client.untilAll(ids, 'DELIVERED');
  expect(listTaken(program.smsc)).toHaveLength(NUMBERS.length + 1);
  expect(await program.client.request('GET', '/health/ready')).toMatchObject({
    status: 200,
    body: { checks: { database: { ok: true }, sessions: { ok: true } } },
  });
  await worker.stop();
});

test('its sessions have our settings, and notifications arrive', async ({ skip }) => {
  if (missing !== undefined) return skip(missing);
  await using pooler = await startPgbouncer(inject('clusterUrl'), 'session');
  const url = pooler.through(inject('clusterUrl'));
  const pool = createPool(url, { max: 2, applicationName: 'test', log: silentLog });
  expect(await one(pool, sql`SHOW statement_timeout`)).toEqual({ statement_timeout: '1min' });
  const heard: string[] = [];
  const session = await openWorkerSession({
    connectionString: url,
    log: silentLog,
  });
  await session.listen({ heliograph_routing: (payload) => void heard.push(payload) });
  await exec(pool, sql`SELECT pg_notify('heliograph_routing', 'hello')`);
  await until('the notification', () => heard.includes('hello'));
  await session.close();
  await pool.end();
});

test('transaction mode is refused at the start and by commands, and noticed when the pooler changes to it', async ({
  skip,
}) => {
  if (missing !== undefined) return skip(missing);
  const sentence = 'set pool_mode = session, or connect to the server itself';
  await using pooler = await startPgbouncer(inject('clusterUrl'), 'session');
  await using program = await startTestProgram({ through: pooler.through });
  await pooler.restart('transaction');
  const config = loadConfig({ ...program.environment });
  await expect(startProgram(config, { api: false, worker: true, sandbox: false })).rejects.toThrow(sentence);
  const run = commandsOn({ connectionString: program.environment['DATABASE_URL'] ?? '' }, registerDoctorCommand);
  const { code, stdout, stderr } = await run('doctor');
  expect(code).toBe(1);
  // It refuses the database like all commands, or reports it as a finding, depending on which sessions the pooler lends it.
  expect((stdout + stderr).toLowerCase()).toContain(sentence);
  const readiness = async (): Promise<string> => {
    const { status, body } = await program.client.request('GET', '/health/ready');
    return `${status} ${JSON.stringify(body)}`;
  };
  await until('the running program to notice', async () => /^503.*a pooler shares them/.test(await readiness()));
  await pooler.restart('session');
  await until('the running program to go on', async () => (await readiness()).startsWith('200'));
});
