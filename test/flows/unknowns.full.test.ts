import { expect, test, vi } from 'vitest';
import { exec, sql } from '../../src/core/db/query.ts';
import type { SandboxOptions } from '../../src/sandbox/smsc.ts';
import { type OperatorResult, runOperatorCommand } from '../support/operator.ts';
import { startTestProgram, type TestProgram } from '../support/program.ts';
import { listTaken } from '../support/taken.ts';
import { until } from '../support/until.ts';

// Each command of an operator is a separate process, which takes many seconds on a busy machine.
vi.setConfig({ testTimeout: 180_000 });

const NUMBER = '+393331238001';

/** A carrier that takes the first message and closes the connection instead of responding. */
const startCut = (script: SandboxOptions = {}): Promise<TestProgram> =>
  startTestProgram({ carriers: { main: { script: { cutAfter: 1, ...script } } } });

/** Sends a message that the carrier cuts off. After that, nothing reaches the carrier until it accepts connections. */
async function sendIntoCut({ client, smsc }: TestProgram): Promise<string> {
  await until('the bind', () => smsc.sessions().some(({ systemId }) => systemId !== null));
  smsc.refuseConnections();
  const { messageId } = await client.send({ phoneNumber: NUMBER, message: 'Your code is 1234', senderName: 'Acme' });
  await until('the cut', () => smsc.ledger.counts().submits >= 1);
  smsc.script.cutAfter = 0;
  return messageId ?? '';
}
const takenBy = ({ smsc }: TestProgram): number =>
  listTaken(smsc).filter(({ destination }) => `+${destination}` === NUMBER).length;
const listed = async (program: TestProgram, ...flags: string[]): Promise<unknown> =>
  (await runOperatorCommand(program, 'unknown', 'list', ...flags)).answer;
const settle = (program: TestProgram, id: string, as: string): Promise<OperatorResult> =>
  runOperatorCommand(program, 'unknown', 'settle', id, '--as', as);

test('a submit without a response is never repeated, and an unambiguous receipt settles it', async () => {
  await using program = await startCut();
  const id = await sendIntoCut(program);
  await program.client.untilStatus(id, 'UNKNOWN');
  await program.smsc.acceptConnections();
  await program.client.untilStatus(id, 'DELIVERED');
  expect(takenBy(program)).toBe(1);
  expect(await listed(program)).toEqual([]);
});

test('on a route with resubmit it is sent once more, and everything that shows it says so', async () => {
  await using program = await startCut();
  const added = await runOperatorCommand(
    program,
    'route',
    'add',
    '--channel',
    'SMS',
    '--connection',
    'main',
    '--on-unknown',
    'resubmit',
  );
  expect(added.code).toBe(0);
  await program.stop();
  await program.start();
  const { client } = program;
  const id = await sendIntoCut(program);
  await program.smsc.acceptConnections();
  const record = await client.untilStatus(id, 'DELIVERED');
  expect(record.possibleDuplicate).toBe(true);
  expect(takenBy(program)).toBe(2);
  const timeline = JSON.stringify(
    (await client.request('GET', `/api/partner-gateway/v1/messages/${id}/timeline`)).body,
  );
  expect(timeline).toContain('"outcome":"UNKNOWN"');
  expect(timeline).toContain('"possibleDuplicate":true');
});

test('the operator sees unknown outcomes and settles them, as sent or as not sent', async () => {
  await using program = await startCut({ receipts: 'none' });
  const { client } = program;
  const id = await sendIntoCut(program);
  await client.untilStatus(id, 'UNKNOWN');
  await program.smsc.acceptConnections();
  const mine = { messageId: id, account: 'Acme', connection: 'main', destination: NUMBER.slice(1) };
  expect(await listed(program, '--account', 'Acme', '--connection', 'main')).toMatchObject([mine]);
  expect((await settle(program, id, 'perhaps')).code).toBe(2);
  expect((await settle(program, id, 'not-sent')).code).toBe(0);
  await until('the second submit', () => takenBy(program) === 2);
  expect(await listed(program)).toEqual([]);
  expect((await settle(program, id, 'delivered')).stderr).toContain('There is no open unknown outcome');
});

test('a schedule outlives the program and is sent once by the next, when it is due', async () => {
  await using program = await startTestProgram();
  const { client, pool } = program;
  const scheduledDate = new Date(Date.now() + 3_600_000).toISOString();
  const later = { destination: NUMBER, sender: 'Acme', body: 'In time', scheduledDate };
  const { messageId } = await client.sendAsMessageServer(later);
  await program.stop();
  await program.start();
  const other = await client.send({ phoneNumber: '+393331238002', message: 'At once', senderName: 'Acme' });
  await client.untilStatus(other.messageId ?? '', 'DELIVERED');
  expect(takenBy(program)).toBe(0);
  await exec(pool, sql`UPDATE dispatch_chunk SET available_at = now() WHERE scheduled`);
  await client.untilStatus(messageId ?? '', 'DELIVERED');
  expect(takenBy(program)).toBe(1);
});
