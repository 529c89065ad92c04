import { afterAll, beforeAll, expect, test } from 'vitest';
import { runOperatorCommand } from '../support/operator.ts';
import { startTestProgram, type TestProgram } from '../support/program.ts';
import { until } from '../support/until.ts';

let program: TestProgram;
beforeAll(async () => {
  program = await startTestProgram();
});
afterAll(() => program[Symbol.asyncDispose]());

const send = async (digit: number): Promise<string> => {
  const { messageId } = await program.client.send({ phoneNumber: `+39333000000${digit}`, message: 'Once' });
  if (messageId === null) throw new Error('it was refused');
  return messageId;
};

/** Waits until the program could send; returns what it says about sending. */
const readiness = () =>
  until('a bind', async () => {
    const { status, body } = await program.client.request('GET', '/health/ready');
    const { status: state, checks } = body as { status: string; checks: Record<string, { ok: boolean }> };
    return checks['carriers']?.ok === true && { status, state, sending: checks['sending']?.ok };
  });

/** Stops the carrier, so that messages sent from then on wait. */
async function pauseConnection(): Promise<void> {
  await runOperatorCommand(program, 'connection', 'pause', 'main');
  await until('no bind', async () => (await program.pool.query('SELECT 1 FROM connection_status')).rowCount === 0);
}

/** Starts the program again, with the carrier, and with its database as it was before its last two transitions. */
async function restart(): Promise<void> {
  await program.stop();
  await program.pool.query('UPDATE restore_guard_machine SET generation = generation - 2');
  await program.pool.query("UPDATE connection SET status = 'active'");
  await program.start();
}

test('after a restore requests are accepted and nothing is sent, until a person confirms', async () => {
  await pauseConnection();
  const waiting = await send(1);
  await restart();
  expect(await readiness()).toEqual({ status: 200, state: 'degraded', sending: false });
  const meanwhile = await send(2);
  const doctor = await runOperatorCommand(program, 'doctor');
  expect(JSON.stringify(doctor.answer)).toContain('restored from a backup');
  expect(program.smsc.ledger.counts().submits).toBe(0);
  expect((await runOperatorCommand(program, 'fence', 'confirm')).code).toBe(0);
  await program.client.untilAll([waiting, meanwhile], 'DELIVERED');
  expect(program.smsc.ledger.counts().submits).toBe(2);
  expect(await readiness()).toMatchObject({ sending: true });
});
