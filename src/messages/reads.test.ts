import type { Pool } from 'pg';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { ReceiptState } from '../carriers/events.ts';
import { exec, many, sql } from '../db/query.ts';
import { transaction } from '../db/transaction.ts';
import { createTestDatabase, type TestDatabase } from '../testing/database.ts';
import { accountWith } from '../testing/money.ts';
import { newMessage, resultOf, statesOf } from '../testing/queue.ts';
import { receipt } from '../testing/receipts.ts';
import { settleOutcomes } from './deliver.ts';
import { receiveReceipts } from './receive-receipt.ts';
import { insertMessages } from './sql.ts';
import { STATUS } from './states.ts';

let database: TestDatabase;
let pool: Pool;
let accountId: number;
beforeAll(async () => {
  database = await createTestDatabase();
  pool = database.pool;
  accountId = await accountWith(pool, 0);
  await exec(
    pool,
    sql`INSERT INTO webhook_endpoint (account_id, form, url, status, secret)
        VALUES (${accountId}, 'A', 'https://example.test/', 'active', '')`,
  );
});
afterAll(() => database[Symbol.asyncDispose]());
beforeEach(() => exec(pool, sql`TRUNCATE message, message_state, message_event, webhook_outbox, traffic_hour`));

async function sent(): Promise<string> {
  const message = newMessage({ accountId, channel: 'WHATSAPP' });
  await insertMessages(pool, [message]);
  const job = { ...message, messageId: message.id, validUntil: null, binary: undefined, content: undefined };
  const { udh: _, binaryBody: __, ...plain } = job;
  await settleOutcomes(
    pool,
    [resultOf(message.id, { kind: 'accepted', carrierIds: [message.id] }, { accountId, job: plain as never })],
    false,
  );
  return message.id;
}
