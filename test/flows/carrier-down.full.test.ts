import { describe, expect, test } from 'vitest';
import { listConnectionStatus } from '../../src/routing/connection-store.ts';
import { addConnection, runOperatorCommand } from '../support/operator.ts';
import { PASSWORD, startCarrier, startTestProgram, type TestProgram } from '../support/program.ts';
import { listTaken } from '../support/taken.ts';
import { until } from '../support/until.ts';

/** Sends `count` messages in one request, all of which are accepted; returns their ids. */
async function sendMany({ client }: TestProgram, count: number, prefix = '39333'): Promise<string[]> {
  const destinations = Array.from({ length: count }, (_, i) => `+${prefix}${String(i).padStart(6, '0')}`);
  const { accepted, results } = await client.bulk({ messages: [{ destinations, sender: 'Acme', body: 'Wait' }] });
  expect(accepted).toBe(count);
  return results.flatMap(({ id }) => id ?? []);
}

const readiness = async ({ client }: TestProgram) => (await client.request('GET', '/health/ready')).body;
const untilReady = (program: TestProgram, status: string, detail: string) =>
  until(`readiness ${status}, ${detail}`, async () => {
    const answer = JSON.stringify(await readiness(program));
    return answer.includes(`"status":"${status}"`) && answer.includes(detail);
  });

/** Reads a gauge of the connection `main` from the metrics. */
async function gauge({ client }: TestProgram, name: string): Promise<number> {
  const text = String((await client.request('GET', '/metrics')).body);
  return Number(new RegExp(`^heliograph_${name}\\{connection="main"\\} (.*)$`, 'm').exec(text)?.[1]);
}

const connectionOf = async ({ pool }: TestProgram) => (await listConnectionStatus(pool))[0];

const numbersTaken = (program: TestProgram) => listTaken(program.smsc).map(({ destination }) => destination);

describe('while the carrier is away', () => {
  test('messages wait, health and metrics show it, and all are sent exactly once when it returns', async () => {
    await using program = await startTestProgram();
    const { client, smsc } = program;
    await untilReady(program, 'ok', '1 up');
    smsc.refuseConnections();
    await smsc.dropConnections();
    await untilReady(program, 'degraded', 'down: main');
    const ids = await sendMany(program, 500);
    expect(await gauge(program, 'connection_up')).toBe(0);
    expect(await gauge(program, 'queue_messages')).toBe(500);
    await until('an age of the queue', async () => (await gauge(program, 'queue_oldest_seconds')) > 0.1);
    expect((await client.statuses(ids.slice(0, 10))).map(({ deliveryStatus }) => deliveryStatus)).toEqual(
      Array(10).fill('ACCEPTED'),
    );
    expect(smsc.ledger.counts().submits).toBe(0);

    await smsc.acceptConnections();
    await client.untilAll(ids, 'DELIVERED');
    expect(numbersTaken(program).toSorted()).toEqual(
      Array.from({ length: 500 }, (_, i) => `39333${String(i).padStart(6, '0')}`),
    );
    await untilReady(program, 'ok', '1 up');
    expect(await gauge(program, 'queue_messages')).toBeNaN();
  });

  test('a connection cut in the middle loses nothing, repeats nothing, and lists unknown outcomes', async () => {
    await using program = await startTestProgram({
      carriers: { main: { script: { cutAfter: 200, responseDelayMs: 5 } } },
    });
    const { client, smsc, pool } = program;
    const ids = await sendMany(program, 1000);
    await until('the first cut', () => smsc.ledger.counts().submits >= 200);
    smsc.script.cutAfter = 0;
    // Late receipts settle the messages that the carrier had; the others stay in doubt and are listed.
    await until('an end of all, and every one in doubt listed', async () => {
      const all = await client.statuses(ids);
      const unknown = all.filter((r) => r.deliveryStatus === 'UNKNOWN').map((r) => r.messageId);
      const { rows } = await pool.query('SELECT message_id AS id FROM unknown_outcome');
      const listed =
        rows
          .map(({ id }) => id)
          .toSorted()
          .join() === unknown.toSorted().join();
      const ended = all.every((r) => r.deliveryStatus === 'DELIVERED' || r.deliveryStatus === 'UNKNOWN');
      return (
        ended && listed && unknown.length <= 50 && ((await gauge(program, 'outcomes_unknown')) || 0) === unknown.length
      );
    });
    const taken = numbersTaken(program);
    expect(new Set(taken).size).toBe(taken.length);
  });

  test('a carrier that throttles gets all messages in the end, each once', async () => {
    const settings = { throttlePauseMs: 20 };
    await using program = await startTestProgram({ carriers: { main: { settings, script: { throttleShare: 0.1 } } } });
    const ids = await sendMany(program, 200);
    await program.client.untilAll(ids, 'DELIVERED');
    const taken = numbersTaken(program);
    expect(taken.length).toBe(200);
    expect(new Set(taken).size).toBe(200);
    expect(program.smsc.ledger.answers()['ESME_RTHROTTLED']).toBeGreaterThan(0);
  });
});

describe('the operator', () => {
  test('sees a wrong password, corrects it, and the messages are sent without a restart', async () => {
    await using program = await startTestProgram({ carriers: { main: { password: 'wrong' } } });
    const ids = await sendMany(program, 20);
    await until('a fault', async () => (await connectionOf(program))?.fault !== null);
    const fault = expect.stringContaining('ESME_RINVPASWD');
    expect((await runOperatorCommand(program, 'connection', 'list')).answer).toMatchObject({
      data: [{ name: 'main', bindsUp: 0, fault }],
    });
    await untilReady(program, 'degraded', 'down: main');
    expect(await runOperatorCommand(program, 'connection', 'test', 'main')).toMatchObject({
      code: 1,
      answer: { ok: false },
    });

    await runOperatorCommand(program, 'connection', 'update', 'main', '--password', PASSWORD, '--set', 'window=7');
    await program.client.untilAll(ids, 'DELIVERED');
    await expect.poll(() => connectionOf(program)).toMatchObject({ up: true, fault: null });
    expect(await runOperatorCommand(program, 'connection', 'test', 'main')).toMatchObject({
      code: 0,
      answer: { ok: true },
    });
  });

  test('sees why the carrier could not be reached, even while no program runs, until it is up again', async () => {
    await using program = await startTestProgram();
    await untilReady(program, 'ok', '1 up');
    expect(await connectionOf(program)).toMatchObject({ lastError: null, lastErrorAt: null });
    program.smsc.refuseConnections();
    await program.smsc.dropConnections();
    const lastError = () => connectionOf(program).then((connection) => connection?.lastError ?? '');
    await until('the refusal', async () => (await lastError()).includes('ECONNREFUSED'));
    await program.stop();
    expect((await runOperatorCommand(program, 'connection', 'list')).answer).toMatchObject({
      data: [
        {
          name: 'main',
          bindsUp: 0,
          fault: null,
          lastError: expect.stringContaining('ECONNREFUSED'),
          lastErrorAt: expect.stringMatching(/^\d{4}-.*Z$/),
        },
      ],
    });
    expect(JSON.stringify((await runOperatorCommand(program, 'doctor')).answer)).toMatch(
      /last at \d{4}-[^"]*ECONNREFUSED/,
    );
    await program.smsc.acceptConnections();
    await program.start();
    await untilReady(program, 'ok', '1 up');
    await until('no error', async () => (await lastError()) === '');
  });

  test('adds a carrier and a route to a running program', async () => {
    await using program = await startTestProgram({ carriers: {} });
    const { client } = program;
    const body = { phoneNumber: '+393331234567', message: 'First' };
    expect((await client.send(body)).results[0]?.accepted).toBe(false);

    const smsc = await startCarrier('new');
    try {
      await addConnection(program, { name: 'new', port: smsc.port });
      await runOperatorCommand(program, 'route', 'add', '--channel', 'SMS', '--prefix', '39', '--connection', 'new');
      const sent = await until('the route', async () => {
        const answer = await client.send(body);
        return answer.results[0]?.accepted === true && answer;
      });
      await client.untilStatus(sent.messageId ?? '', 'DELIVERED');
      expect(listTaken(smsc)).toHaveLength(1);
    } finally {
      await smsc.close();
    }
  });

  test('pauses a connection and resumes it, and messages wait in between', async () => {
    await using program = await startTestProgram();
    const { client, smsc } = program;
    await untilReady(program, 'ok', '1 up');
    await runOperatorCommand(program, 'connection', 'pause', 'main');
    await until('the unbind', () => smsc.sessions().length === 0);
    const ids = await sendMany(program, 20);
    expect(await connectionOf(program)).toMatchObject({ status: 'paused', up: false });
    expect(smsc.ledger.counts().submits).toBe(0);
    await runOperatorCommand(program, 'connection', 'resume', 'main');
    await client.untilAll(ids, 'DELIVERED');
    expect(smsc.ledger.counts().accepted).toBe(20);
  });
});
