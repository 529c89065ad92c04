import type { Pool } from 'pg';
import { bigint, insertRows, int, json, rowsOf, smallint, text, timestamptz, uuid } from '../core/db/columns.ts';
import {
  as,
  columns,
  countRows,
  type Db,
  exec,
  many,
  maybeOne,
  one,
  plainArray,
  type RowOf,
  sql,
} from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { DAY_MS } from '../core/time.ts';
import {
  moveToDisabled,
  moveToFailing,
  moveToSucceeding,
  type QueuedEvent,
  type SettledEvent,
  type Target,
} from './account-queue.ts';
import { rowsOfMessages, type WebhookEventKind } from './events.ts';
import { deleteOutbox, listOwnAccounts } from './outbox.ts';
import { retryDelayMs } from './send.ts';

const DISABLE_AFTER_MS = 5 * DAY_MS;

/** An outbox row whose events have all ended. */
export type DoneRow = { readonly id: number; readonly accountId: number };

/**
 * Commits the results of events: the log, the next attempts and the state of the webhooks; and deletes completed rows
 * from the outbox. Nothing is dropped before that commit, so after a crash the events since the last call are sent
 * again, under the same ids.
 *
 * Results of accounts that another worker has taken over are dropped: that worker sends their events again.
 *
 * @returns the accounts that this worker still owns
 */
export function recordSettled(
  pool: Pool,
  { owner, settled, done }: { owner: number; settled: readonly SettledEvent[]; done: readonly DoneRow[] },
): Promise<ReadonlySet<number>> {
  return transaction(pool, async (tx) => {
    const accountIds = [...settled.map(({ event }) => event.accountId), ...done.map(({ accountId }) => accountId)];
    const own = await listOwnAccounts(tx, { owner, accountIds: [...new Set(accountIds)] });
    const mine = settled.filter(({ event }) => own.has(event.accountId));
    const ids = done.filter(({ accountId }) => own.has(accountId)).map(({ id }) => id);
    await recordEvents(tx, mine.map(verdictOf));
    if (ids.length > 0) await deleteOutbox(tx, { ids });
    for (const [id, ofTarget] of Map.groupBy(mine, ({ target }) => target?.id))
      if (id !== undefined) await recordHealth(tx, ofTarget);
    return own;
  });
}

type Verdict = {
  readonly event: QueuedEvent;
  /** Null: nothing was tried, and nothing will be tried. */
  readonly entry: LogEntry | null;
  readonly next: 'none' | 'later' | 'behind';
};

/** Interprets a result for its event. */
function verdictOf({ event, result }: SettledEvent): Verdict {
  switch (result.kind) {
    case 'acknowledged': {
      const { code, durationMs, at, answer } = result;
      const entry = entryOf(event, {
        state: 'DELIVERED',
        attempts: event.attempts + 1,
        responseCode: code,
        durationMs,
        triedAt: at,
        answer,
      });
      return { event, entry, next: 'none' };
    }
    case 'failed':
      return verdictOfFailure(event, result);
    case 'behind':
      return { event, entry: entryOf(event, { failure: 'waits for an earlier event of its message' }), next: 'behind' };
    case 'left out': {
      const entry =
        event.outboxId === null ? entryOf(event, { state: 'DEAD', failure: 'there is no webhook for it' }) : null;
      return { event, entry, next: 'none' };
    }
    case 'given up':
      return { event, entry: entryOf(event, { state: 'DEAD', failure: result.reason }), next: 'none' };
  }
}

function verdictOfFailure(event: QueuedEvent, failed: Extract<SettledEvent['result'], { kind: 'failed' }>): Verdict {
  const { code, reason, durationMs, retryAfterMs, at, answer } = failed;
  const attempts = event.attempts + 1;
  const delayMs = failed.unwanted ? null : retryDelayMs(attempts, retryAfterMs);
  const entry = entryOf(event, {
    attempts,
    responseCode: code,
    durationMs,
    failure: reason ?? `answered ${code}`,
    triedAt: at,
    answer,
    ...(delayMs === null ? { state: 'DEAD' } : { nextAttemptAt: new Date(Date.now() + delayMs) }),
    failures: [{ at: at.toISOString(), code, reason, ms: durationMs, answer }],
  });
  return { event, entry, next: delayMs === null ? 'none' : 'later' };
}

const entryOf = (event: QueuedEvent, more: Partial<LogEntry>): LogEntry => ({
  accountId: event.accountId,
  id: event.id,
  messageId: event.messageId,
  kind: event.kind,
  status: event.status,
  at: event.at,
  error: event.error,
  state: 'PENDING',
  attempts: event.attempts,
  responseCode: null,
  durationMs: null,
  failure: null,
  nextAttemptAt: null,
  failures: [],
  triedAt: null,
  answer: null,
  ...more,
});

/** Records events. Waiting ones are written before ended ones: the end of an event makes the one behind it due. */
async function recordEvents(tx: Db, verdicts: readonly Verdict[]): Promise<void> {
  const entries = verdicts.flatMap(({ entry }) => entry ?? []);
  const later = verdicts.filter(({ next }) => next !== 'none');
  const ended = verdicts.filter(
    ({ event, entry, next }) => next === 'none' && (event.outboxId === null || isDead(entry)),
  );
  if (entries.length > 0) await insertLog(tx, entries);
  if (later.length > 0)
    await insertRetries(
      tx,
      later.map(({ event, entry }) => ({ ...event, dueAt: entry?.nextAttemptAt ?? null })),
    );
  if (ended.length > 0)
    await deleteRetries(
      tx,
      ended.map(({ event }) => event),
    );
}

const isDead = (entry: LogEntry | null): boolean => entry?.state === 'DEAD';

/** Updates the state of one webhook from its responses. One success among failures counts as working. */
async function recordHealth(tx: Db, settled: readonly SettledEvent[]): Promise<void> {
  const last = settled.at(-1);
  if (!last?.target || last.target.disabledReason !== null) return;
  const webhook = { accountId: last.event.accountId, id: last.target.id };
  const failures = settled.flatMap(({ result }) => (result.kind === 'failed' ? [result] : []));
  if (failures.some(({ unwanted }) => unwanted))
    await moveToDisabled(tx, { ...webhook, reason: 'the receiver returned 410 Gone' });
  else if (settled.some(({ result }) => result.kind === 'acknowledged')) await recordSuccess(tx, webhook, last.target);
  else if (failures.length > 0) await recordFailure(tx, webhook, last.target);
}

type Webhook = { readonly accountId: number; readonly id: number };

async function recordSuccess(tx: Db, webhook: Webhook, { failingSince }: Target): Promise<void> {
  if (failingSince !== null) await moveToSucceeding(tx, webhook);
}

async function recordFailure(tx: Db, webhook: Webhook, { failingSince }: Target): Promise<void> {
  if (failingSince === null) await moveToFailing(tx, webhook);
  else if (Date.now() - failingSince.getTime() > DISABLE_AFTER_MS)
    await moveToDisabled(tx, { ...webhook, reason: 'it has failed for five days without one success' });
}

export const DELIVERY_STATES = ['PENDING', 'DELIVERED', 'DEAD'] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** Identifies an event. */
export type EventKey = { readonly accountId: number; readonly id: string };

const keysOf = (keys: readonly EventKey[]) =>
  rowsOf(keys, { account_id: bigint((k) => k.accountId), id: uuid((k) => k.id) });

/** A failed attempt, as the log stores it. */
type FailedAttempt = {
  readonly at: string;
  readonly code: number | null;
  readonly reason: string | null;
  readonly ms: number;
  /** The first bytes of the response body. */
  readonly answer?: string | null;
};

type LogEntry = EventKey & {
  readonly messageId: string;
  readonly kind: WebhookEventKind;
  readonly status: number | null;
  readonly at: Date;
  readonly error: string | null;
  readonly state: DeliveryState;
  readonly attempts: number;
  readonly responseCode: number | null;
  readonly durationMs: number | null;
  readonly failure: string | null;
  readonly nextAttemptAt: Date | null;
  /** Start of the last attempt; null: there was none. */
  readonly triedAt: Date | null;
  /** The first bytes of its response body. */
  readonly answer: string | null;
  /** The attempt that is recorded, if it failed; the log collects them. */
  readonly failures: readonly FailedAttempt[];
};

/** Records the state of events, each at most once per call: inserts new entries and updates those that exist. */
async function insertLog(db: Db, entries: readonly LogEntry[]): Promise<void> {
  await exec(
    db,
    sql`${insertRows('webhook_delivery AS d', entries, {
      accountId: bigint,
      id: uuid,
      messageId: uuid,
      kind: text,
      status: smallint,
      at: timestamptz,
      error: text,
      state: text,
      attempts: smallint,
      responseCode: smallint,
      durationMs: int,
      failure: text,
      nextAttemptAt: timestamptz,
      triedAt: timestamptz,
      answer: text,
      failures: json((e) => JSON.stringify(e.failures)),
    })}
        ORDER BY u.account_id, u.id
        ON CONFLICT (account_id, id) DO UPDATE
          SET state = excluded.state, attempts = excluded.attempts, response_code = excluded.response_code,
              duration_ms = excluded.duration_ms, failure = excluded.failure,
              next_attempt_at = excluded.next_attempt_at, updated_at = now(),
              tried_at = coalesce(excluded.tried_at, d.tried_at), answer = excluded.answer,
              failures = d.failures || excluded.failures`,
  );
}

export type Retry = EventKey & {
  readonly messageId: string;
  readonly seq: number;
  /** Null: due when the event before it, of the same message, has ended. */
  readonly dueAt: Date | null;
};

/** Schedules the next attempts. */
export async function insertRetries(db: Db, retries: readonly Retry[]): Promise<void> {
  await exec(
    db,
    sql`${insertRows<Retry>('webhook_retry', retries, {
      accountId: bigint,
      id: uuid,
      messageId: uuid,
      seq: bigint,
      dueAt: timestamptz,
    })}
        ORDER BY u.account_id, u.id
        ON CONFLICT (account_id, id) DO UPDATE SET due_at = excluded.due_at`,
  );
}

/** Removes the retries of events that have ended, and makes the next event of each of their messages due. */
export async function deleteRetries(db: Db, ended: readonly (EventKey & { messageId: string })[]): Promise<void> {
  await exec(
    db,
    sql`WITH ended AS (SELECT u.account_id, u.id, u.message_id FROM ${rowsOf(ended, {
      account_id: bigint((e) => e.accountId),
      id: uuid((e) => e.id),
      message_id: uuid((e) => e.messageId),
    })} AS u),
        gone AS (DELETE FROM webhook_retry r USING ended e WHERE r.account_id = e.account_id AND r.id = e.id),
        next AS (
          SELECT DISTINCT ON (w.account_id, w.message_id) w.account_id, w.id, w.due_at
          FROM ended e JOIN webhook_retry w ON w.account_id = e.account_id AND w.message_id = e.message_id
          WHERE w.id NOT IN (SELECT id FROM ended) ORDER BY w.account_id, w.message_id, w.seq)
        UPDATE webhook_retry n SET due_at = now() FROM next
        WHERE n.account_id = next.account_id AND n.id = next.id AND next.due_at IS NULL`,
  );
}

/** Lists which of these events are in the log; all their ids lie in [firstId, lastId]. */
export async function listLogged(
  db: Db,
  { keys, firstId, lastId }: { keys: readonly EventKey[]; firstId: string; lastId: string },
): Promise<Set<string>> {
  const rows = await many<{ id: string }>(
    db,
    sql`SELECT d.id FROM ${keysOf(keys)} AS u JOIN webhook_delivery d ON d.account_id = u.account_id AND d.id = u.id
        WHERE d.id BETWEEN ${firstId} AND ${lastId}`,
  );
  return new Set(rows.map((row) => row.id));
}

/** Lists which of these messages have events that wait for another attempt. */
export async function listWaitingMessages(
  db: Db,
  { messages }: { messages: readonly Pick<Retry, 'accountId' | 'messageId'>[] },
): Promise<Set<string>> {
  const rows = await many<{ id: string }>(
    db,
    sql`SELECT DISTINCT r.message_id AS id FROM ${rowsOfMessages(messages)} AS u
        JOIN webhook_retry r ON r.account_id = u.account_id AND r.message_id = u.id`,
  );
  return new Set(rows.map((row) => row.id));
}

const DUE_RETRY = columns({
  accountId: as<number>('r.account_id'),
  id: as<string>('r.id'),
  messageId: as<string>('r.message_id'),
  seq: as<number>('r.seq'),
  kind: as<WebhookEventKind>('d.kind'),
  status: as<number | null>('d.status'),
  at: as<Date>('d.at'),
  error: as<string | null>('d.error'),
  attempts: as<number>('d.attempts'),
});
export type DueRetry = RowOf<typeof DUE_RETRY>;

/** Number of events to load of an account. */
export type AccountLimit = { readonly accountId: number; readonly limit: number };

/**
 * Lists the events of these accounts whose next attempt is due, up to the limit of each, without those held already.
 */
export async function listDueRetries(
  db: Db,
  { wants, heldIds }: { wants: readonly AccountLimit[]; heldIds: readonly string[] },
): Promise<DueRetry[]> {
  return many(
    db,
    sql`SELECT ${DUE_RETRY}
        FROM ${rowsOf(wants, { account_id: bigint((w) => w.accountId), max: int((w) => w.limit) })} AS u
        CROSS JOIN LATERAL (
          SELECT * FROM webhook_retry w
          WHERE w.account_id = u.account_id AND w.due_at <= now() AND w.id <> ALL(${plainArray(heldIds)}::uuid[])
          ORDER BY w.due_at LIMIT u.max
        ) AS r
        JOIN webhook_delivery d ON d.account_id = r.account_id AND d.id = r.id
        ORDER BY r.due_at, r.seq`,
  );
}

const DELIVERY = columns({
  id: as<string>('id'),
  messageId: as<string>('message_id'),
  kind: as<WebhookEventKind>('kind'),
  status: as<number | null>('status'),
  at: as<Date>('at'),
  error: as<string | null>('error'),
  state: as<DeliveryState>('state'),
  attempts: as<number>('attempts'),
  responseCode: as<number | null>('response_code'),
  durationMs: as<number | null>('duration_ms'),
  failure: as<string | null>('failure'),
  nextAttemptAt: as<Date | null>('next_attempt_at'),
  /** Start of the last attempt; null: there was none. */
  triedAt: as<Date | null>('tried_at'),
  /** The first bytes of its response body. */
  answer: as<string | null>('answer'),
  updatedAt: as<Date>('updated_at'),
  failures: as<readonly FailedAttempt[]>('failures'),
});
/** An entry of the log of an account. */
export type Delivery = RowOf<typeof DELIVERY>;

/** A filter of the log; null fields do not filter. The events lie in [firstId, beforeId). */
export type DeliveryFilter = {
  readonly accountId: number;
  readonly state: DeliveryState | null;
  readonly kind: WebhookEventKind | null;
  readonly messageId: string | null;
  readonly firstId: string | null;
  readonly beforeId: string | null;
};

const fits = ({ accountId, state, kind, messageId, firstId, beforeId }: DeliveryFilter) => sql`
  account_id = ${accountId} AND ${isIn(state)} AND (${kind}::text IS NULL OR kind = ${kind})
  AND (${messageId}::uuid IS NULL OR message_id = ${messageId})
  AND (${firstId}::uuid IS NULL OR id >= ${firstId}) AND (${beforeId}::uuid IS NULL OR id < ${beforeId})`;

/** Lists the log of an account, newest events first. */
export async function listDeliveries(
  db: Db,
  { limit, offset, ...filter }: DeliveryFilter & { limit: number; offset: number },
): Promise<Delivery[]> {
  return many(
    db,
    sql`SELECT ${DELIVERY} FROM webhook_delivery
        WHERE ${fits(filter)} ORDER BY id DESC LIMIT ${limit} OFFSET ${offset}`,
  );
}

/** Counts the entries of the log that fit the filter. */
export const countDeliveries = (db: Db, filter: DeliveryFilter): Promise<number> =>
  countRows(db, sql`FROM webhook_delivery WHERE ${fits(filter)}`);

/** States with a partial index are named twice: the planner must see that they are not DELIVERED. */
const isIn = (state: DeliveryState | null) => {
  if (state === null) return sql`true`;
  return state === 'DELIVERED' ? sql`state = 'DELIVERED'` : sql`state = ${state} AND state <> 'DELIVERED'`;
};

/** Lists the events of one message, oldest first; `firstId` is the id of the earliest possible event. */
export async function listDeliveriesOf(
  db: Db,
  { accountId, messageId, firstId }: { accountId: number; messageId: string; firstId: string },
): Promise<Delivery[]> {
  return many(
    db,
    sql`SELECT ${DELIVERY} FROM webhook_delivery
        WHERE account_id = ${accountId} AND message_id = ${messageId} AND id >= ${firstId} ORDER BY id`,
  );
}

/** Events per call of a replay. */
const MAX_REPLAYED = 100_000;

type Range = { readonly firstId: string; readonly lastId: string; readonly state: DeliveryState | null };

/**
 * Makes the oldest events of an account in [firstId, lastId] with this state (null: any) due now, up to 100,000, as if
 * they had never been tried. Events that wait behind an earlier one stay there. Returns how many became due.
 */
export async function moveToReplayed(
  db: Db,
  { accountId, firstId, lastId, state }: { accountId: number } & Range,
): Promise<number> {
  return exec(
    db,
    sql`WITH chosen AS (
          SELECT id FROM webhook_delivery d
          WHERE account_id = ${accountId} AND id BETWEEN ${firstId} AND ${lastId} AND ${isIn(state)}
            AND NOT EXISTS (SELECT FROM webhook_retry r
                            WHERE r.account_id = ${accountId} AND r.id = d.id AND r.due_at IS NULL)
          ORDER BY id LIMIT ${MAX_REPLAYED} FOR UPDATE),
        moved AS (
          UPDATE webhook_delivery d SET state = 'PENDING', attempts = 0, next_attempt_at = now(), updated_at = now()
          FROM chosen c WHERE d.account_id = ${accountId} AND d.id = c.id AND d.id BETWEEN ${firstId} AND ${lastId}
          RETURNING d.account_id, d.id, d.message_id)
        INSERT INTO webhook_retry (account_id, id, message_id, due_at)
        SELECT account_id, id, message_id, now() FROM moved ORDER BY account_id, id
        ON CONFLICT (account_id, id) DO UPDATE SET due_at = least(webhook_retry.due_at, excluded.due_at)`,
  );
}

/** Finds one entry of an account's log. */
export async function findDelivery(db: Db, { accountId, id }: EventKey): Promise<Delivery | undefined> {
  return maybeOne(db, sql`SELECT ${DELIVERY} FROM webhook_delivery WHERE account_id = ${accountId} AND id = ${id}`);
}

/** Counts, over all accounts, the events in the outbox, those that wait for another attempt, and the dead ones. */
export async function countEvents(db: Db): Promise<{ fresh: number; waiting: number; dead: number }> {
  return one(
    db,
    sql`SELECT (SELECT coalesce(sum(cardinality(message_ids)), 0) FROM webhook_outbox)::bigint AS fresh,
               (SELECT count(*) FROM webhook_retry) AS waiting,
               (SELECT count(*) FROM webhook_delivery WHERE state = 'DEAD' AND state <> 'DELIVERED') AS dead`,
  );
}

/** Lists pending and dead events by account, for the operator; accounts without any are omitted. */
export async function listEventCounts(db: Db): Promise<{ accountId: number; pending: number; dead: number }[]> {
  return many(
    db,
    sql`SELECT account_id AS "accountId", sum(pending)::bigint AS pending, sum(dead)::bigint AS dead
        FROM (SELECT account_id, sum(cardinality(message_ids)) AS pending, 0 AS dead FROM webhook_outbox GROUP BY 1
              UNION ALL SELECT account_id, count(*), 0 FROM webhook_retry GROUP BY 1
              UNION ALL SELECT account_id, 0, count(*) FROM webhook_delivery
                        WHERE state = 'DEAD' AND state <> 'DELIVERED' GROUP BY 1) AS c
        GROUP BY account_id ORDER BY account_id`,
  );
}
