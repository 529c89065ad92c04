import type { Pool } from 'pg';
import type { Outcome } from '../../src/channels/carrier.ts';
import { exec, many, sql } from '../../src/core/db/query.ts';
import { transaction } from '../../src/core/db/transaction.ts';
import { newId } from '../../src/core/ids.ts';
import type { Result } from '../../src/dispatch/commit.ts';
import { insertChunks } from '../../src/dispatch/store.ts';
import { newMessage as completeMessage, insertMessages, type NewMessage } from '../../src/messages/new-messages.ts';
import { freeze } from '../../src/money/credit.ts';

/** Returns a message as `accept` stores it. */
export const newMessage = (more: Partial<NewMessage> = {}): NewMessage =>
  completeMessage({
    accountId: 1,
    id: newId(),
    channel: 'SMS',
    source: 'API',
    connectionId: 1,
    routeReason: null,
    sender: 'ACME',
    askedSender: null,
    destination: '+351912345678',
    body: 'Hello',
    priceCategory: null,
    purpose: null,
    clientData: null,
    priceMicros: 0,
    refundUndelivered: false,
    apiKeyId: null,
    userId: null,
    ...more,
  });

export type Queued = {
  readonly accountId?: number;
  readonly connectionId?: number;
  readonly priority?: number;
  readonly count?: number;
  /** The number of messages per chunk. */
  readonly size?: number;
  readonly parts?: number;
  /** The price of each message, which is reserved as `accept` does. */
  readonly priceMicros?: number;
  readonly availableAt?: Date | null;
  readonly alternates?: readonly number[];
  readonly campaignId?: number | null;
  /** Senders of the messages, in turns. */
  readonly senders?: readonly string[];
};

/** Stores messages and their queue chunks; returns the ids in order. */
export async function queueMessages(pool: Pool, queued: Queued): Promise<string[]> {
  const {
    accountId = 1,
    connectionId = 1,
    priority = 1,
    count = 1,
    size = 1000,
    parts = 1,
    priceMicros = 0,
    availableAt = null,
    alternates = [],
    campaignId = null,
    senders = ['ACME'],
  } = queued;
  const message = { accountId, connectionId, parts, priceMicros, campaignId };
  const messages = Array.from({ length: count }, (_, n) =>
    newMessage({ ...message, sender: senders[n % senders.length] ?? '' }),
  );
  const ids = messages.map(({ id }) => id);
  const chunks = Array.from({ length: Math.ceil(count / size) }, (_, n) => ids.slice(n * size, (n + 1) * size));
  await transaction(pool, async (tx) => {
    for (let i = 0; i < count; i += 1000) await insertMessages(tx, messages.slice(i, i + 1000));
    await insertChunks(
      tx,
      chunks.map((list) => ({ accountId, connectionId, alternates, priority, availableAt, campaignId, ids: list })),
    );
    if (priceMicros > 0) await freeze(tx, [{ accountId, micros: count * priceMicros }], 'test');
  });
  return ids;
}

/** Returns the result that a pump reports for the first attempt of a message of account 1 on connection 1. */
export const resultOf = (messageId: string, outcome: Outcome, more: Partial<Result> = {}): Result => ({
  accountId: 1,
  messageId,
  connectionId: 1,
  attempt: 1,
  outcome,
  answeredAt: new Date(),
  resubmit: false,
  job: null,
  ...more,
});

export type StateRow = {
  id: string;
  status: number;
  attempts: number;
  carrierId: string | null;
  errorCode: string | null;
  errorText: string | null;
  doneAt: Date | null;
  submittedAt: Date | null;
};

/** Returns the recorded states of these messages, by id. */
export async function statesOf(pool: Pool, ids: readonly string[]): Promise<Map<string, StateRow>> {
  const rows = await many<StateRow>(
    pool,
    sql`SELECT id, status, attempts, carrier_id AS "carrierId", error_code AS "errorCode", error_text AS "errorText",
               done_at AS "doneAt", submitted_at AS "submittedAt"
        FROM message_state WHERE id = ANY(${ids}::uuid[])`,
  );
  return new Map(rows.map((row) => [row.id, row]));
}

export type ChunkState = {
  id: number;
  accountId: number;
  connectionId: number;
  priority: number;
  round: number;
  attempt: number;
  tries: number;
  alternates: number[];
  owner: number | null;
  intent: number;
  size: number;
  ids: string[];
};

/** Lists the whole queue, in the order in which it would be claimed. */
export const listChunks = (pool: Pool): Promise<ChunkState[]> =>
  many(
    pool,
    sql`SELECT id, account_id AS "accountId", connection_id AS "connectionId", priority, round, attempt, tries,
               alternates, owner, intent, size, ids
        FROM dispatch_chunk ORDER BY priority, round, id`,
  );

/** Lists the ids of messages whose outcome is unknown. */
export async function listUnknownIds(pool: Pool): Promise<Set<string>> {
  const rows = await many<{ id: string }>(pool, sql`SELECT message_id AS id FROM unknown_outcome`);
  return new Set(rows.map((row) => row.id));
}

/**
 * Stores delivered messages of other accounts, so many that reading them all would be the wrong plan, and updates the
 * statistics of PostgreSQL.
 */
export async function crowdMessages(pool: Pool): Promise<void> {
  await exec(
    pool,
    sql`INSERT INTO message (account_id, id, channel, source, simulation, sender, destination, body, parts, want_receipt)
        SELECT n % 5 + 100, uuidv7(), 'SMS', 'API', false, 'ACME', '+351912345678', 'x', 1, true
        FROM generate_series(1, 20000) AS n`,
  );
  await exec(
    pool,
    sql`INSERT INTO message_state (account_id, id, status, attempts, updated_at)
        SELECT account_id, id, 3, 1, now() FROM message WHERE account_id >= 100`,
  );
  await exec(pool, sql`ANALYZE message, message_state`);
}
