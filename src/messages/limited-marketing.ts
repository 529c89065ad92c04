import type { Receipt } from '../channels/carrier.ts';
import { bigint, rowsOf, uuid } from '../core/db/columns.ts';
import { as, columns, type Db, many, type RowOf, sql, timeOf } from '../core/db/query.ts';
import { boundsOf } from '../core/ids.ts';
import { OPEN_STATES } from '../core/message-state.ts';
import { DAY_MS, HOUR_MS } from '../core/time.ts';
import { insertRetryChunk } from '../dispatch/store.ts';
import { insertEvents } from './events.ts';
import { DEFAULT_VALIDITY_MS } from './load.ts';

/** The code of a failure because Meta limits the marketing messages that a person gets. */
const MARKETING_LIMITED = '131049';
/** Meta asks to wait for 24 hours at least (Cloud API, error codes). */
const WAIT_MS = 24 * HOUR_MS;
const MAX_REPEATS = 2;
/** After single sends and bulk requests, like campaigns. */
const PRIORITY = 2;

type Report = {
  readonly accountId: number;
  readonly messageId: string;
  readonly part: number | null;
  readonly receipt: Pick<Receipt, 'errorCode' | 'raw'>;
  readonly receivedAt: Date;
};

const LIMITED = columns({
  accountId: as<number>('s.account_id'),
  messageId: as<string>('s.id'),
  connectionId: as<number>('s.connection_id'),
  attempts: as<number>('s.attempts'),
  campaignId: as<number | null>('s.campaign_id'),
  /** False if it waits already: the network has repeated the report. */
  isNew: as<boolean>('s.is_new'),
});

/**
 * Sends marketing messages that Meta has held from their recipients again after 24 hours, in the transaction that
 * receives the reports: at most twice, within their validity. Messages that go to another channel instead fail at once.
 * Returns the receipts of all others.
 */
export async function repeatLimited<R extends Report>(tx: Db, matched: readonly R[]): Promise<readonly R[]> {
  const limited = matched.filter(isLimited);
  if (limited.length === 0) return matched;
  const keys = [...new Map(limited.map((one) => [one.messageId, one])).values()].sort((a, b) =>
    a.messageId < b.messageId ? -1 : 1,
  );
  const waiting = await moveToWaiting(tx, keys);
  const repeated = waiting.filter(({ isNew }) => isNew);
  const reports = new Map(keys.map((key) => [key.messageId, key]));
  for (const { accountId, connectionId, messageId, attempts: attempt, campaignId } of repeated)
    await insertRetryChunk(tx, {
      accountId,
      connectionId,
      alternates: [],
      priority: PRIORITY,
      round: 0,
      attempt,
      tries: 0,
      afterMs: WAIT_MS,
      onUnknown: 'hold',
      campaignId,
      ids: [messageId],
    });
  await insertEvents(
    tx,
    repeated.map(({ accountId, messageId, connectionId, attempts: attempt }) => ({
      accountId,
      messageId,
      connectionId,
      kind: 'attempt' as const,
      text: reports.get(messageId)?.receipt.raw ?? null,
      details: { attempt, outcome: 'RETRY' as const, code: MARKETING_LIMITED },
      at: reports.get(messageId)?.receivedAt ?? new Date(),
    })),
  );
  const ids = new Set(waiting.map(({ messageId }) => messageId));
  return matched.filter((one) => !isLimited(one) || !ids.has(one.messageId));
}

const isLimited = ({ receipt, part }: Report): boolean => receipt.errorCode === MARKETING_LIMITED && part === null;

/**
 * Marks messages as waiting for their next attempt, and lists those that do. A price that was earned with the first
 * attempt would be earned again: such messages fail.
 */
function moveToWaiting(tx: Db, keys: readonly Report[]): Promise<RowOf<typeof LIMITED>[]> {
  const [firstId, lastId] = boundsOf(keys.map(({ messageId }) => messageId));
  const validMs = DEFAULT_VALIDITY_MS / DAY_MS;
  return many(
    tx,
    sql`WITH u AS (SELECT * FROM ${rowsOf(keys, {
      account_id: bigint((k) => k.accountId),
      id: uuid((k) => k.messageId),
    })} AS r),
        found AS (
          SELECT s.account_id, s.id, s.connection_id, s.attempts, s.campaign_id,
            s.error_code IS DISTINCT FROM ${MARKETING_LIMITED} AS is_new
          FROM u JOIN message_state s ON s.account_id = u.account_id AND s.id = u.id
          JOIN message m ON m.account_id = u.account_id AND m.id = u.id
          WHERE s.id BETWEEN ${firstId} AND ${lastId} AND m.id BETWEEN ${firstId} AND ${lastId}
            AND s.status IN (${OPEN_STATES}) AND s.connection_id IS NOT NULL
            AND (s.credit_held OR m.price_micros = 0) AND NOT m.keeps_reserve
            AND coalesce(m.valid_until,
                         coalesce(m.scheduled_at, ${timeOf(sql`m.id`)}) + ${validMs} * interval '1 day')
              > now() + ${WAIT_MS / HOUR_MS} * interval '1 hour'
            AND NOT EXISTS (SELECT FROM message_fallback f WHERE f.account_id = m.account_id AND f.message_id = m.id)
            AND (s.error_code = ${MARKETING_LIMITED} OR ${MAX_REPEATS} > (
              SELECT count(*) FROM message_event e
              WHERE e.account_id = m.account_id AND e.message_id = m.id AND e.details ->> 'code' = ${MARKETING_LIMITED}))
          ORDER BY s.id FOR UPDATE OF s),
        moved AS (
          UPDATE message_state s SET error_code = ${MARKETING_LIMITED}, updated_at = now() FROM found f
          WHERE f.is_new AND s.account_id = f.account_id AND s.id = f.id AND s.id BETWEEN ${firstId} AND ${lastId})
        SELECT ${LIMITED} FROM found s`,
  );
}
