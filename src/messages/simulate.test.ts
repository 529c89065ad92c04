import { beforeEach, expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { newMessage, statesOf } from '../../test/support/queue.ts';
import { reset } from '../../test/support/reset.ts';
import type { Channel } from '../core/channels.ts';
import { exec, many, sql } from '../core/db/query.ts';
import { STATUS } from '../core/message-state.ts';
import { insertMessages } from './new-messages.ts';
import { endSimulated, findNextSimulatedMs, planSimulation } from './simulation.ts';

const { pool } = testDatabase();

beforeEach(() => reset(pool, sql`TRUNCATE message, message_state, simulated_outcome, traffic_hour`));

async function simulated(destinations: readonly string[], channel: Channel = 'SMS'): Promise<string[]> {
  const messages = destinations.map((destination) =>
    newMessage({ destination, channel, simulation: true, connectionId: null }),
  );
  await insertMessages(pool, messages);
  await planSimulation(pool, messages);
  return messages.map((message) => message.id);
}

const passed = (seconds: number): Promise<number> =>
  exec(pool, sql`UPDATE simulated_outcome SET due_at = due_at - ${seconds} * interval '1 second'`);

const statusesOf = async (ids: readonly string[]): Promise<(number | undefined)[]> => {
  const states = await statesOf(pool, ids);
  return ids.map((id) => states.get(id)?.status);
};

test('the last digits of the number choose the final state, which comes after its delay', async () => {
  const ids = await simulated(['0001', '0002', '0003', '0004', '0005', '5678'].map((end) => `+35191234${end}`));
  expect(await statusesOf(ids)).toEqual(Array(6).fill(STATUS.ACCEPTED));
  expect(await endSimulated(pool)).toBe(0);
  await passed(1);
  expect(await endSimulated(pool)).toBe(4);
  expect(await statusesOf(ids)).toEqual([
    STATUS.UNDELIVERABLE,
    STATUS.EXPIRED,
    STATUS.REJECTED,
    STATUS.ACCEPTED,
    STATUS.ACCEPTED,
    STATUS.DELIVERED,
  ]);
  await passed(29);
  expect(await endSimulated(pool)).toBe(1);
  expect((await statusesOf(ids)).slice(3, 5)).toEqual([STATUS.ACCEPTED, STATUS.DELIVERED]);
  expect(await endSimulated(pool)).toBe(0);
});

// The specification's table of delivery statuses names the channels of each.
test.each([
  ['SMS', ['UNDELIVERABLE', 'EXPIRED', 'REJECTED', 'DELIVERED', 'DELIVERED', 'DELIVERED', 'DELIVERED'], 0],
  ['RCS', ['ERROR', 'EXPIRED', 'ERROR', 'DELIVERED', 'UNSUPPORTED', 'DISABLED', 'DELIVERED'], 1],
  ['WHATSAPP', ['ERROR', 'EXPIRED', 'ERROR', 'DELIVERED', 'UNSUPPORTED', 'DISABLED', 'CONVERSATION_CLOSED'], 1],
] as const)('%s ends in states that the channel has', async (channel, ends, read) => {
  const numbers = ['0001', '0002', '0003', '0006', '0007', '0008', '0009'].map((end) => `+35191234${end}`);
  const ids = await simulated(numbers, channel);
  await passed(1);
  await endSimulated(pool);
  expect(await statusesOf(ids)).toEqual(ends.map((name) => STATUS[name]));
  const reads = await many(pool, sql`SELECT id FROM message_state WHERE read_at IS NOT NULL`);
  expect(reads).toEqual(ids.slice(3, 3 + read).map((id) => ({ id })));
});

test('the figures do not count them', async () => {
  await simulated(['+351912345678', '+351912340006'], 'RCS');
  await passed(1);
  await endSimulated(pool);
  expect(await many(pool, sql`SELECT FROM traffic_hour`)).toEqual([]);
});

test('the final state has the time when it was due, and a failure says that it was simulated', async () => {
  const ids = await simulated(['+351912340001', '+351912345678']);
  const due = await many<{ id: string; at: Date }>(
    pool,
    sql`
    UPDATE simulated_outcome SET due_at = now() RETURNING message_id AS id, due_at AS at`,
  );
  await endSimulated(pool);
  const states = await statesOf(pool, ids);
  expect(new Map(due.map(({ id, at }) => [id, at]))).toEqual(new Map(ids.map((id) => [id, states.get(id)?.doneAt])));
  expect(ids.map((id) => states.get(id)?.errorText)).toEqual(['simulated', null]);
});

test('several workers end each message once', async () => {
  await simulated(Array.from({ length: 300 }, (_, n) => `+3519123${String(5000 + n)}`));
  await passed(60);
  const ended = await Promise.all(Array.from({ length: 4 }, () => endSimulated(pool)));
  expect(ended.reduce((sum, n) => sum + n, 0)).toBe(300);
});

test('the time until the next final state is returned, and null when there is none', async () => {
  expect(await findNextSimulatedMs(pool)).toBeNull();
  await simulated(['+351912340005']);
  const ms = (await findNextSimulatedMs(pool)) ?? 0;
  expect(ms).toBeGreaterThan(25_000);
  expect(ms).toBeLessThanOrEqual(30_000);
});
