import { describe, expect, test } from 'vitest';
import { listQueueDepths } from '../../src/dispatch/store.ts';
import { listConnectionStatus } from '../../src/routing/connection-store.ts';
import { runOperatorCommand } from '../support/operator.ts';
import { startTestProgram, type TestProgram } from '../support/program.ts';
import { listTaken } from '../support/taken.ts';
import { until } from '../support/until.ts';

/**
 * Two carriers for every number: `first` as long as it works, then `second`. A carrier counts as dead after a second.
 */
const startTwo = (first: object = {}) =>
  startTestProgram({
    carriers: { first, second: { priority: 200 } },
    environment: { FAILOVER_SECONDS: '1' },
  });

const numbers = (count: number, prefix = '39333') =>
  Array.from({ length: count }, (_, i) => `+${prefix}${String(i).padStart(6, '0')}`);

/** Sends to each number; returns the ids. */
async function sendTo({ client }: TestProgram, destinations: readonly string[], body = 'Hello'): Promise<string[]> {
  const { accepted, results } = await client.bulk({ messages: [{ destinations, sender: 'Acme', body }] });
  expect(accepted).toBe(destinations.length);
  return results.flatMap(({ id }) => id ?? []);
}

const taken = (program: TestProgram, name: string): string[] =>
  listTaken(program.carrier(name)).map(({ destination }) => `+${destination}`);

const untilUp = ({ pool }: TestProgram, name: string) =>
  until(`${name} is up`, async () => (await listConnectionStatus(pool)).some((c) => c.name === name && c.up));

const untilSessions = (program: TestProgram, name: string, count: number) =>
  until(`${count} sessions at ${name}`, () => program.carrier(name).sessions().length === count);

describe('a carrier that is dead', () => {
  test('its waiting messages are sent once through the next one; afterwards the first one takes over again', async () => {
    await using program = await startTwo();
    await untilSessions(program, 'first', 1);
    await untilSessions(program, 'second', 1);
    program.carrier('first').refuseConnections();
    await program.carrier('first').dropConnections();
    const waiting = numbers(1500);
    const ids = await sendTo(program, waiting);
    await program.client.untilAll(ids, 'DELIVERED');
    expect(taken(program, 'second').toSorted()).toEqual(waiting);
    expect(taken(program, 'first')).toEqual([]);

    await program.carrier('first').acceptConnections();
    await untilUp(program, 'first');
    const later = numbers(20, '39334');
    await program.client.untilAll(await sendTo(program, later), 'DELIVERED');
    expect(taken(program, 'first').toSorted()).toEqual(later);
    expect(taken(program, 'second')).toHaveLength(waiting.length);
  });

  test('messages that it may have taken before it died are not sent to the next one: their outcome is unknown', async () => {
    const script = { cutAfter: 200, responseDelayMs: 5 };
    await using program = await startTwo({ settings: { window: 25 }, script });
    const first = program.carrier('first');
    const destinations = numbers(1000);
    const ids = await sendTo(program, destinations);
    await until('the cut', () => first.ledger.counts().submits >= 200);
    first.refuseConnections();
    await first.dropConnections();
    await until('all are submitted', async () => (await listQueueDepths(program.pool)).length === 0);
    const records = await program.client.statuses(ids);
    const unknown = records.filter(({ deliveryStatus }) => deliveryStatus === 'UNKNOWN');
    expect(unknown.length).toBeGreaterThan(0);
    expect(unknown.length).toBeLessThanOrEqual(2 * 25);
    const second = new Set(taken(program, 'second'));
    expect(unknown.filter(({ destination }) => second.has(destination))).toEqual([]);
    const everywhere = [...taken(program, 'first'), ...second];
    expect(new Set(everywhere).size).toBe(everywhere.length);

    first.script.cutAfter = 0;
    await first.acceptConnections();
    const known = records.filter(({ deliveryStatus }) => deliveryStatus !== 'UNKNOWN');
    await program.client.untilAll(
      known.map(({ messageId }) => messageId),
      'DELIVERED',
    );
  });

  test('a paused connection counts as dead at once, and its messages are sent through the next one', async () => {
    await using program = await startTwo();
    await untilSessions(program, 'second', 1);
    await runOperatorCommand(program, 'connection', 'pause', 'first');
    await untilSessions(program, 'first', 0);
    await program.client.untilAll(await sendTo(program, numbers(20)), 'DELIVERED');
    expect(taken(program, 'second')).toHaveLength(20);
  });
});

describe('a carrier that refuses', () => {
  test('for its own reasons: the next one takes the message, and its receipt counts', async () => {
    await using program = await startTwo({ script: { otherwise: { refuse: 'ESME_RSUBMITFAIL' } } });
    const destinations = numbers(300);
    await program.client.untilAll(await sendTo(program, destinations, 'x'.repeat(400)), 'DELIVERED');
    expect(taken(program, 'second').toSorted()).toEqual(destinations);
    expect(program.carrier('first').ledger.answers()).toEqual({ ESME_RSUBMITFAIL: 300 });
    const { rows } = await program.pool.query(
      `SELECT c.name, s.attempts, count(*)::int AS count FROM message_state s JOIN connection c ON c.id = s.connection_id
       GROUP BY 1, 2`,
    );
    expect(rows).toEqual([{ name: 'second', attempts: 2, count: 300 }]);
  });

  test('because the number is invalid: the message ends, and no other carrier sees it', async () => {
    await using program = await startTwo();
    const [id = ''] = await sendTo(program, ['+393330009909']);
    await program.client.untilStatus(id, 'UNDELIVERABLE');
    expect(program.carrier('first').ledger.counts().submits).toBe(1);
    expect(program.carrier('second').ledger.counts().submits).toBe(0);
  });
});

test('a connection is removed when nothing needs it any more, and the running program closes it', async () => {
  await using program = await startTwo();
  await untilSessions(program, 'first', 1);
  const { answer } = await runOperatorCommand(program, 'route', 'list');
  const { data: routes } = answer as { data: { id: number }[] };
  expect(routes).toMatchObject([
    { connection: 'first', order: 1 },
    { connection: 'second', order: 2 },
  ]);
  const refused = await runOperatorCommand(program, 'connection', 'remove', 'first');
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain('route remove');
  const [{ id } = { id: 0 }] = routes;
  await runOperatorCommand(program, 'route', 'remove', String(id));
  expect(await runOperatorCommand(program, 'connection', 'remove', 'first')).toMatchObject({ code: 0 });
  await untilSessions(program, 'first', 0);
  await program.client.untilAll(await sendTo(program, numbers(5)), 'DELIVERED');
  expect(taken(program, 'second')).toHaveLength(5);
});
