import { afterAll, beforeAll, expect, test } from 'vitest';
import { openOperatorApi, type OperatorApi } from '../../test/support/http/operator-api.ts';
import { startTestProgram, type TestProgram } from '../../test/support/program.ts';
import { newMessage, resultOf } from '../../test/support/queue.ts';
import { receipt } from '../../test/support/receipts.ts';
import type { ReceiptBilling } from '../channels/carrier.ts';
import { transaction } from '../core/db/transaction.ts';
import { freeze } from '../money/credit.ts';
import { loadJobs } from './load.ts';
import { listBillingGaps, storeBillingGaps } from './network-billing.ts';
import { insertMessages } from './new-messages.ts';
import { insertReceiptBatches } from './receipt-store.ts';
import { processReceipts } from './receipts.ts';
import { settleOutcomes } from './settle.ts';

let program: TestProgram;
let operator: OperatorApi;
beforeAll(async () => {
  program = await startTestProgram({ roles: { worker: false } });
  operator = await openOperatorApi(program);
});
afterAll(() => program[Symbol.asyncDispose]());

/** A message that the network took, priced by us in a category. */
async function sent(priceCategory: string, priceMicros: number): Promise<string> {
  const { pool, account } = program;
  const { accountId } = account;
  const fields = { accountId, channel: 'WHATSAPP', priceCategory, priceMicros, refundUndelivered: true } as const;
  const message = newMessage(fields);
  await transaction(pool, async (tx) => {
    await insertMessages(tx, [message]);
    await freeze(tx, [{ accountId, micros: priceMicros }], message.id);
  });
  const chunk = { id: 1, accountId, priority: 0, round: 0, attempt: 0, tries: 0, alternates: [], intent: 0 };
  const [jobs] = await loadJobs(pool, [{ ...chunk, onUnknown: 'hold', campaignId: null, ids: [message.id] }]);
  const taken = { kind: 'accepted', carrierIds: [message.id] } as const;
  await settleOutcomes(pool, [resultOf(message.id, taken, { accountId, job: jobs?.[0] ?? null })], false);
  return message.id;
}

/** The network reports the end of a message and its charge, and the worker settles it later. */
async function report(id: string, charge: Partial<ReceiptBilling>, state: 'DELIVERED' | 'UNDELIVERABLE' = 'DELIVERED') {
  const { pool } = program;
  const billing = { billable: true, model: 'PMP', type: 'regular', category: 'marketing', ...charge };
  const batch = { connectionId: 1, receipts: [receipt(id, { state, billing })] };
  await transaction(pool, (tx) => insertReceiptBatches(tx, [batch]));
  await processReceipts(pool, () => new Date());
}

test('the operator sees by day and category where the network charges and we do not, or otherwise', async () => {
  await report(await sent('marketing', 70_000), {});
  await report(await sent('utility', 20_000), {});
  await report(await sent('utility', 20_000), { category: 'utility' });
  await report(await sent('service', 10_000), { billable: false, type: 'free_entry_point', category: 'service' });
  await report(await sent('service', 0), { billable: false, type: 'free_customer_service', category: 'service' });
  // Nothing is due for what is not delivered.
  await report(await sent('marketing', 70_000), {}, 'UNDELIVERABLE');
  const day = new Date().toISOString().slice(0, 10);
  expect(await operator.ask('GET', '/billing')).toEqual({
    data: [
      { day, category: 'marketing', messages: 2, billed: 2, charged: 2, differing: 1, earned: 0.09 },
      { day, category: 'service', messages: 2, billed: 0, charged: 1, differing: 1, earned: 0.01 },
      { day, category: 'utility', messages: 1, billed: 1, charged: 1, differing: 0, earned: 0.02 },
    ],
  });
  expect(await operator.ask('GET', '/billing?to=2020-01-01')).toEqual({ data: [] });
  for (let times = 0; times < 2; times++) await storeBillingGaps(program.pool, new Date());
  expect(await listBillingGaps(program.pool)).toEqual([
    { day, category: 'marketing', messages: 2, differing: 1 },
    { day, category: 'service', messages: 2, differing: 1 },
    { day, category: 'utility', messages: 1, differing: 0 },
  ]);
});
