import { beforeEach, expect, test } from 'vitest';
import { createScriptedCarrier } from '../../test/support/carriers/scripted-carrier.ts';
import { testDatabase } from '../../test/support/database.ts';
import { pumpOn } from '../../test/support/pump.ts';
import { listChunks, queueMessages } from '../../test/support/queue.ts';
import { reset } from '../../test/support/reset.ts';
import { until } from '../../test/support/until.ts';
import type { Pace } from '../channels/throttle.ts';
import { exec, sql } from '../core/db/query.ts';
import { splitChunk } from './claims.ts';

const { pool } = testDatabase();

beforeEach(() => reset(pool, sql`TRUNCATE message, message_state, dispatch_chunk`));

/** A separate pace for each sender; those that are `held` must wait. */
function pacesBySender(held: Set<string>) {
  const paces = new Map<string, Pace>();
  return (sender: string): Pace => {
    const pace = paces.get(sender) ?? { ready: () => !held.has(sender), take: () => undefined, waitMs: () => 5 };
    paces.set(sender, pace);
    return pace;
  };
}
const everyThird = (ids: readonly string[], from: number): string[] => ids.filter((_, n) => n % 3 === from);

test('a sender that must wait does not hold back the rest of its chunk, and goes on when it may', async () => {
  const held = new Set(['A']);
  const ids = await queueMessages(pool, { count: 300, senders: ['A', 'B', 'C'] });
  const carrier = createScriptedCarrier({ paceOf: pacesBySender(held) });
  const pump = pumpOn(pool, carrier);
  const areSent = async (): Promise<boolean> => carrier.submitted.length > 0 && (await listChunks(pool)).length === 1;
  await until('the others are sent', areSent);
  expect(carrier.submitted).toEqual([...everyThird(ids, 1), ...everyThird(ids, 2)]);
  expect(await listChunks(pool)).toMatchObject([{ ids: everyThird(ids, 0), intent: 0, round: 0 }]);
  held.clear();
  pump.wake();
  await until('all are sent', async () => (await listChunks(pool)).length === 0);
  expect(carrier.submitted.slice(200)).toEqual(everyThird(ids, 0));
});

test('a chunk whose senders share one limit stays whole', async () => {
  const held = new Set(['all']);
  const ids = await queueMessages(pool, { count: 4, senders: ['A', 'B'] });
  const pace = pacesBySender(held)('all');
  const carrier = createScriptedCarrier({ paceOf: () => pace });
  const pump = pumpOn(pool, carrier);
  await until('it is held', () => pump.counts().held === 4);
  expect((await listChunks(pool)).map((chunk) => chunk.ids)).toEqual([ids]);
});

test('the parts of a chunk keep everything else of it and follow one another in its turn', async () => {
  const ids = await queueMessages(pool, { count: 5, senders: ['A', 'B', 'C'], alternates: [7], campaignId: 3 });
  await exec(pool, sql`UPDATE dispatch_chunk SET owner = 9, round = 40, attempt = 2, tries = 1`);
  const [whole] = await listChunks(pool);
  const lists = [0, 1, 2].map((n) => everyThird(ids, n));
  const chunkIds = await splitChunk(pool, { owner: 9, id: whole?.id ?? 0, lists });
  const parts = await listChunks(pool);
  expect(parts.map((part) => part.id)).toEqual(chunkIds);
  expect(parts).toEqual(
    lists.map((own, n) => ({ ...whole, id: chunkIds[n], ids: own, size: own.length, round: [40, 42, 44][n] })),
  );
});

test('a chunk that belongs to another worker, or of which something may be written, is not divided', async () => {
  const ids = await queueMessages(pool, { count: 2 });
  await exec(pool, sql`UPDATE dispatch_chunk SET owner = 9, intent = 1`);
  const id = (await listChunks(pool))[0]?.id ?? 0;
  const lists = ids.map((one) => [one]);
  expect(await splitChunk(pool, { owner: 9, id, lists })).toEqual([]);
  await exec(pool, sql`UPDATE dispatch_chunk SET intent = 0`);
  expect(await splitChunk(pool, { owner: 8, id, lists })).toEqual([]);
  expect(await listChunks(pool)).toHaveLength(1);
});
