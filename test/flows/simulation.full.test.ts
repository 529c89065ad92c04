import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestProgram, type TestProgram } from '../support/program.ts';

let program: TestProgram;
beforeAll(async () => {
  program = await startTestProgram();
});
afterAll(() => program[Symbol.asyncDispose]());

const simulate = async (phoneNumber: string) =>
  (await program.client.send({ phoneNumber, message: 'Trial', simulation: true })).messageId ?? '';
const carrierCounts = () => {
  const { submits, receipts } = program.smsc.ledger.counts();
  return { submits, receipts };
};

test('the last digits of the number choose the outcome, and the carrier never sees the message', async () => {
  const { client } = program;
  const started = Date.now();
  const endings = { '0001': 'UNDELIVERABLE', '0002': 'EXPIRED', '0003': 'REJECTED', '1234': 'DELIVERED' } as const;
  const sent = await Promise.all(
    Object.entries(endings).map(async ([digits, status]) => ({ id: await simulate(`+39333000${digits}`), status })),
  );
  const [never, late] = await Promise.all([simulate('+393330000004'), simulate('+393330000005')]);
  for (const { id, status } of sent) {
    const record = await client.untilStatus(id, status);
    expect(Date.parse(record.deliveryDate ?? '')).toBeGreaterThanOrEqual(started + 1000);
  }
  expect((await client.statuses([never, late])).map((record) => record.deliveryStatus)).toEqual([
    'ACCEPTED',
    'ACCEPTED',
  ]);
  expect(carrierCounts()).toEqual({ submits: 0, receipts: 0 });
});

test('0005 is delivered after 30 seconds, and 0004 never', async () => {
  const { client, pool } = program;
  const [never, late] = await Promise.all([simulate('+393331000004'), simulate('+393331000005')]);
  const { rows } = await pool.query(
    `SELECT message_id AS id, round(extract(epoch FROM due_at - now()))::int AS seconds
     FROM simulated_outcome WHERE message_id = ANY($1)`,
    [[never, late]],
  );
  expect(rows).toEqual([{ id: late, seconds: 30 }]);
  await pool.query('UPDATE simulated_outcome SET due_at = now() WHERE message_id = $1', [late]);
  await pool.query(`SELECT pg_notify('heliograph_simulated', '')`);
  await client.untilStatus(late, 'DELIVERED');
  expect((await client.status(never)).deliveryStatus).toBe('ACCEPTED');
});

test('a bulk send is simulated completely, in order', async () => {
  const { client } = program;
  const destinations = ['+393332000001', '+393332000002', '+393332000009'];
  const { results } = await client.bulk({
    simulation: true,
    messages: [{ destinations, sender: 'Acme', body: 'Trial' }],
  });
  const [first = '', second = '', third = ''] = results.map(({ id }) => id ?? '');
  await client.untilStatus(first, 'UNDELIVERABLE');
  await client.untilStatus(second, 'EXPIRED');
  await client.untilStatus(third, 'DELIVERED');
  expect(carrierCounts()).toEqual({ submits: 0, receipts: 0 });
});

test('a restart in between does not lose the outcome', async () => {
  const id = await simulate('+393333000001');
  await program.stop();
  await program.start();
  await program.client.untilStatus(id, 'UNDELIVERABLE');
  expect(carrierCounts()).toEqual({ submits: 0, receipts: 0 });
});

test('needs no route: a gateway without a carrier can be tried out', async () => {
  await using bare = await startTestProgram({ carriers: {} });
  const body = { phoneNumber: '+393334000000', message: 'Trial' };
  const real = await bare.client.send(body);
  expect(real.results).toMatchObject([{ accepted: false, reasons: ['no route leads to this number'] }]);
  expect((await bare.client.send({ ...body, simulation: true })).results).toMatchObject([{ accepted: true }]);
});
