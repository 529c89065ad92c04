import { expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { createAccountWithCredit, readBooks } from '../../test/support/money.ts';
import { newMessage, resultOf } from '../../test/support/queue.ts';
import { receipt } from '../../test/support/receipts.ts';
import type { Outcome, ReceiptState } from '../channels/carrier.ts';
import { many, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import type { Result } from '../dispatch/commit.ts';
import { freeze } from '../money/credit.ts';
import { insertConnection } from '../routing/connection-store.ts';
import { createCostList, insertCosts } from '../routing/costs.ts';
import { insertKnown } from '../routing/number-lookup-store.ts';
import { loadJobs, withNetworks } from './load.ts';
import { insertMessages, type NewMessage } from './new-messages.ts';
import { receiveReceipts, settleOutcomes } from './settle.ts';

const { pool } = testDatabase();

const PRICE = 50;

/** An account, and a connection that costs 20 a part in Italy and has no cost elsewhere. */
async function newWorld() {
  const accountId = await createAccountWithCredit(pool, 1_000_000);
  const made = await insertConnection(pool, { name: `c${accountId}`, kind: 'smpp', sandbox: false, settings: {} });
  const connectionId = made?.id ?? 0;
  await insertCosts(pool, { costs: [{ connectionId, prefix: '39', network: null, unitMicros: 20 }] });
  const costs = createCostList(pool);
  await costs.reload();
  return { accountId, connectionId, costs };
}
type World = Awaited<ReturnType<typeof newWorld>>;

/** A message that waits, with its price frozen. */
async function waiting({ accountId, connectionId }: World, more: Partial<NewMessage> = {}): Promise<string> {
  const message = newMessage({ accountId, connectionId, priceMicros: PRICE, destination: '+393331234567', ...more });
  await transaction(pool, async (tx) => {
    await insertMessages(tx, [message]);
    await freeze(tx, [{ accountId, micros: PRICE }], 'test');
  });
  return message.id;
}

/** Settles an attempt as the pump does; with `job: null` as the rescue of a dead worker's chunks does. */
async function settle(world: World, id: string, outcome: Outcome, more: Partial<Result> & { again?: boolean } = {}) {
  const { again = false, ...rest } = more;
  const { accountId, connectionId, costs } = world;
  const chunk = { id: 1, accountId, priority: 0, round: 0, attempt: 0, tries: 0, alternates: [], intent: 0 };
  const [jobs] = await loadJobs(pool, [{ ...chunk, onUnknown: 'hold', campaignId: null, ids: [id] }]);
  const [[job] = []] = await withNetworks(pool, [jobs ?? []], { connectionId, costs });
  const result = resultOf(id, outcome, { accountId, connectionId, job: job ?? null, ...rest });
  await transaction(pool, (tx) => settleOutcomes(tx, [result], again, costs));
}

const receive = ({ accountId, connectionId }: World, id: string, state: ReceiptState) =>
  transaction(pool, (tx) => {
    const matched = { accountId, messageId: id, part: null, connectionId, receivedAt: new Date() };
    return receiveReceipts(tx, [{ ...matched, receipt: receipt('C', { state }) }]);
  });

/**
 * The margins of the account as `country: messages units uncosted earned cost`, other connections than its own before
 * them.
 */
const marginsOf = async ({ accountId }: World): Promise<string[]> =>
  (
    await many<{ text: string }>(
      pool,
      sql`SELECT concat(nullif(c.name, ${`c${accountId}`}) || ' ', country, ': ', concat_ws(' ', sum(messages), sum(units), sum(uncosted),
                                                              sum(earned_micros), sum(cost_micros))) AS text
          FROM margin_day JOIN connection c ON c.id = connection_id
          WHERE account_id = ${accountId} GROUP BY c.name, country ORDER BY 1`,
    )
  ).map(({ text }) => text);

const TAKEN: Outcome = { kind: 'accepted', carrierIds: ['C'] };
const UNKNOWN: Outcome = { kind: 'unknown', text: 'no response', carrierIds: [] };
const REFUSED: Outcome = { kind: 'refused', status: 'REJECTED', code: '8', text: 'no', carrierIds: [] };
const BUSY: Outcome = { kind: 'retry', afterMs: 1, counts: false, code: '58', text: 'throttled' };

test('what a carrier takes costs each of its parts, and its price is earned', async () => {
  const world = await newWorld();
  await settle(world, await waiting(world), TAKEN);
  await settle(world, await waiting(world, { parts: 3 }), { kind: 'accepted', carrierIds: ['a', 'b', 'c'] });
  expect(await marginsOf(world)).toEqual(['39: 2 4 0 100 80']);
});

test('a message without a known cost is counted as such', async () => {
  const world = await newWorld();
  await settle(world, await waiting(world, { destination: '+447700900123' }), TAKEN);
  expect(await marginsOf(world)).toEqual(['44: 1 1 1 50 0']);
});

test('of a connection without any costs nothing is kept', async () => {
  const world = await newWorld();
  const other = await insertConnection(pool, { name: 'other', kind: 'smpp', sandbox: false, settings: {} });
  await settle({ ...world, connectionId: other?.id ?? 0 }, await waiting(world), TAKEN);
  expect(await marginsOf(world)).toEqual([]);
});

test('what a carrier refuses or has us repeat costs nothing, except for the parts that it took', async () => {
  const world = await newWorld();
  await settle(world, await waiting(world), REFUSED);
  await settle(world, await waiting(world), BUSY);
  expect(await marginsOf(world)).toEqual([]);
  await settle(world, await waiting(world, { parts: 3 }), { ...REFUSED, carrierIds: ['a', 'b'] });
  expect(await marginsOf(world)).toEqual(['39: 1 2 0 0 40']);
});

test('a message that goes over another connection costs what that one charges', async () => {
  const world = await newWorld();
  const second = await newWorld();
  const id = await waiting(world);
  await settle(world, id, BUSY);
  const { accountId, costs } = { ...world, costs: second.costs };
  await settle({ accountId, costs, connectionId: second.connectionId }, id, TAKEN, { attempt: 2 });
  const margins = await marginsOf(world);
  expect(margins).toEqual([`c${second.accountId} 39: 1 1 0 50 20`]);
});

test('a message that never got a response costs once, whatever is learned of it later', async () => {
  const world = await newWorld();
  for (const [late, expected] of [
    [TAKEN, '39: 1 1 0 50 20'],
    [REFUSED, '39: 1 1 0 50 20'],
    [BUSY, '39: 1 1 0 50 20'],
  ] as const) {
    const id = await waiting(world);
    await settle(world, id, UNKNOWN, { job: null, again: true });
    await settle(world, id, late, { again: true });
    expect(await marginsOf(world)).toEqual([expected]);
  }
});

test('a message that is sent once more because the response was missing costs twice', async () => {
  const world = await newWorld();
  const id = await waiting(world);
  await settle(world, id, UNKNOWN, { resubmit: true });
  await settle(world, id, TAKEN, { attempt: 2 });
  expect(await marginsOf(world)).toEqual(['39: 2 2 0 50 40']);
});

test('a refundable price is earned with the delivery, and never when there is none', async () => {
  const world = await newWorld();
  const [delivered, failed] = [
    await waiting(world, { refundUndelivered: true, wantReceipt: true }),
    await waiting(world, { refundUndelivered: true, wantReceipt: true }),
  ];
  await settle(world, delivered, TAKEN);
  await settle(world, failed, TAKEN);
  expect(await marginsOf(world)).toEqual(['39: 2 2 0 0 40']);
  await receive(world, delivered, 'DELIVERED');
  await receive(world, failed, 'UNDELIVERABLE');
  expect(await marginsOf(world)).toEqual(['39: 2 2 0 50 40']);
  expect(await readBooks(pool, world.accountId)).toMatchObject({ earned: 50, frozen: 0 });
});

test('a commit that is repeated because its response was lost counts nothing twice', async () => {
  const world = await newWorld();
  const id = await waiting(world);
  await settle(world, id, TAKEN);
  await settle(world, id, TAKEN, { again: true });
  expect(await marginsOf(world)).toEqual(['39: 1 1 0 50 20']);
});

test('a message costs what its network costs where that is known when it is submitted', async () => {
  const world = await newWorld();
  const { connectionId, costs } = world;
  await insertCosts(pool, { costs: [{ connectionId, prefix: '', network: '22201', unitMicros: 7 }] });
  await costs.reload();
  const destination = '+393331234568';
  await settle(world, await waiting(world, { destination }), TAKEN);
  expect(await marginsOf(world)).toEqual(['39: 1 1 0 50 20']);
  const validUntil = new Date(Date.now() + 60_000);
  await insertKnown(pool, [{ number: destination, network: '22201', ported: null, validUntil }]);
  await settle(world, await waiting(world, { destination }), TAKEN);
  expect(await marginsOf(world)).toEqual(['39: 2 2 0 100 27']);
  // Messages left by a dead worker are counted like those of a living one.
  const id = await waiting(world, { destination });
  await settle(world, id, UNKNOWN, { job: null, again: true });
  await settle(world, id, TAKEN, { again: true });
  expect(await marginsOf(world)).toEqual(['39: 3 3 0 150 34']);
});
