import type { Pool } from 'pg';
import { bigint, insertRows, int, json, rowsOf, smallint, text, timestamptz, uuid } from '../core/db/columns.ts';
import { as, columns, type Db, exec, many, plainArray, type RowOf, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { boundsOf } from '../core/ids.ts';
import { DAY_MS } from '../core/time.ts';
import {
  moveToDisabled,
  moveToFailing,
  moveToSucceeding,
  type QueuedEvent,
  type SettledEvent,
  type Target,
} from './account-queue.ts';
import { deleteOutbox, listOutboxIds, listOwnAccounts, publishFacts } from './outbox.ts';
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
    const mine = await withoutErased(
      tx,
      settled.filter(({ event }) => own.has(event.accountId)),
    );
    const ids = done.filter(({ accountId }) => own.has(accountId)).map(({ id }) => id);
    await recordEvents(tx, mine.map(verdictOf));
    if (ids.length > 0) await deleteOutbox(tx, { ids });
    for (const [id, ofTarget] of Map.groupBy(mine, ({ target }) => target?.id))
      if (id !== undefined) await recordHealth(tx, ofTarget);
    return own;
  });
}

/**
 * Omits the results of events that were deleted while they were in memory, as when a person is erased, and the errors of
 * messages whose content was deleted: nothing of them comes back.
 */
async function withoutErased(tx: Db, settled: readonly SettledEvent[]): Promise<SettledEvent[]> {
  const events = settled.map(({ event }) => event);
  const outboxIds = new Set(events.flatMap(({ outboxId }) => outboxId ?? []));
  const rows = outboxIds.size === 0 ? [] : await listOutboxIds(tx, { ids: [...outboxIds] });
  const retried = events.filter(({ outboxId }) => outboxId === null);
  const [firstId, lastId] = boundsOf(retried.map(({ id }) => id));
  const logged = retried.length === 0 ? new Set() : await listLogged(tx, { keys: retried, firstId, lastId });
  const kept = new Set(rows);
  const erased = await listErased(
    tx,
    events.filter(({ error }) => error !== null),
  );
  return settled.flatMap((one) => {
    const { event } = one;
    const isKept = event.outboxId === null ? logged.has(placeOf(event.endpoint, event.id)) : kept.has(event.outboxId);
    if (!isKept) return [];
    return erased.has(event.messageId) ? [{ ...one, event: { ...event, error: null } }] : [one];
  });
}

/** Lists those of these messages whose content was deleted. */
async function listErased(
  db: Db,
  messages: readonly Pick<QueuedEvent, 'accountId' | 'messageId'>[],
): Promise<ReadonlySet<string>> {
  if (messages.length === 0) return new Set();
  const [firstId, lastId] = boundsOf(messages.map(({ messageId }) => messageId));
  const rows = await many<{ id: string }>(
    db,
    sql`SELECT s.id FROM ${rowsOf(messages, {
      account_id: bigint((m) => m.accountId),
      id: uuid((m) => m.messageId),
    })} AS u
        JOIN message_state s ON s.account_id = u.account_id AND s.id = u.id AND s.id BETWEEN ${firstId} AND ${lastId}
        WHERE s.erased`,
  );
  return new Set(rows.map(({ id }) => id));
}

type Verdict = {
  readonly event: QueuedEvent;
  /** Null: nothing was tried, and nothing will be tried. */
  readonly entry: LogEntry | null;
  readonly next: 'none' | 'later' | 'behind';
};

/** Interprets a result for its event. */
function verdictOf({ event, result, target }: SettledEvent): Verdict {
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
      return verdictOfFailure(event, result, target);
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

function verdictOfFailure(
  event: QueuedEvent,
  failed: Extract<SettledEvent['result'], { kind: 'failed' }>,
  target: Target | null,
): Verdict {
  const { code, reason, durationMs, retryAfterMs, at, answer } = failed;
  const attempts = event.attempts + 1;
  const delayMs = failed.unwanted ? null : retryDelayMs(attempts, retryAfterMs, undefined, target?.retry);
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
  endpoint: event.endpoint,
  id: event.id,
  data: event.data,
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
    await disable(tx, last.target, webhook, 'the receiver returned 410 Gone');
  else if (settled.some(({ result }) => result.kind === 'acknowledged')) await recordSuccess(tx, webhook, last.target);
  else if (failures.length > 0) await recordFailure(tx, webhook, last.target);
}

type Webhook = { readonly accountId: number; readonly id: number };

async function recordSuccess(tx: Db, webhook: Webhook, { failingSince }: Target): Promise<void> {
  if (failingSince !== null) await moveToSucceeding(tx, webhook);
}

async function recordFailure(tx: Db, webhook: Webhook, target: Target): Promise<void> {
  const { failingSince } = target;
  if (failingSince === null) await moveToFailing(tx, webhook);
  else if (Date.now() - failingSince.getTime() > DISABLE_AFTER_MS)
    await disable(tx, target, webhook, 'it has failed for five days without one success');
}

async function disable(tx: Db, { ref }: Target, webhook: Webhook, reason: string): Promise<void> {
  if ((await moveToDisabled(tx, { ...webhook, reason })) === 0) return;
  const endpointId = ref === 0 ? 'default' : String(ref);
  const about = { accountId: webhook.accountId, about: ref };
  await publishFacts(tx, [{ ...about, type: 'webhook.disabled', data: { endpointId, reason } }]);
}

export const DELIVERY_STATES = ['PENDING', 'DELIVERED', 'DEAD'] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** Identifies an event at one of the endpoints that it goes to (`ref`). */
export type EventKey = { readonly accountId: number; readonly endpoint: number; readonly id: string };

const keysOf = (keys: readonly EventKey[]) =>
  rowsOf(keys, {
    account_id: bigint((k) => k.accountId),
    endpoint: bigint((k) => k.endpoint),
    id: uuid((k) => k.id),
  });

/** The key of something that belongs to one endpoint, as text. */
export const placeOf = (endpoint: number, id: string): string => `${endpoint}/${id}`;

/** A failed attempt, as the log stores it. */
export type FailedAttempt = {
  readonly at: string;
  readonly code: number | null;
  readonly reason: string | null;
  readonly ms: number;
  /** The first bytes of the response body. */
  readonly answer?: string | null;
};

type LogEntry = EventKey & {
  readonly messageId: string;
  readonly kind: string;
  readonly data: object | null;
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
      endpoint: bigint,
      id: uuid,
      messageId: uuid,
      data: json((e) => e.data && JSON.stringify(e.data)),
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
        ON CONFLICT (account_id, id, endpoint) DO UPDATE
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
      endpoint: bigint,
      id: uuid,
      messageId: uuid,
      seq: bigint,
      dueAt: timestamptz,
    })}
        ORDER BY u.account_id, u.id
        ON CONFLICT (account_id, id, endpoint) DO UPDATE SET due_at = excluded.due_at`,
  );
}

/** Removes the retries of events that have ended, and makes the next event of each of their messages due. */
export async function deleteRetries(db: Db, ended: readonly (EventKey & { messageId: string })[]): Promise<void> {
  await exec(
    db,
    sql`WITH ended AS (SELECT u.* FROM ${rowsOf(ended, {
      account_id: bigint((e) => e.accountId),
      endpoint: bigint((e) => e.endpoint),
      id: uuid((e) => e.id),
      message_id: uuid((e) => e.messageId),
    })} AS u),
        gone AS (DELETE FROM webhook_retry r USING ended e
          WHERE r.account_id = e.account_id AND r.id = e.id AND r.endpoint = e.endpoint),
        next AS (
          SELECT DISTINCT ON (w.account_id, w.endpoint, w.message_id) w.account_id, w.endpoint, w.id, w.due_at
          FROM ended e JOIN webhook_retry w
            ON w.account_id = e.account_id AND w.message_id = e.message_id AND w.endpoint = e.endpoint
          WHERE (w.id, w.endpoint) NOT IN (SELECT id, endpoint FROM ended)
          ORDER BY w.account_id, w.endpoint, w.message_id, w.seq)
        UPDATE webhook_retry n SET due_at = now() FROM next
        WHERE n.account_id = next.account_id AND n.id = next.id AND n.endpoint = next.endpoint AND next.due_at IS NULL`,
  );
}

/** Lists which of these events are in the log (`placeOf`); all their ids lie in [firstId, lastId]. */
export async function listLogged(
  db: Db,
  { keys, firstId, lastId }: { keys: readonly EventKey[]; firstId: string; lastId: string },
): Promise<Set<string>> {
  const rows = await many<{ id: string; endpoint: number }>(
    db,
    sql`SELECT d.id, d.endpoint FROM ${keysOf(keys)} AS u
        JOIN webhook_delivery d ON d.account_id = u.account_id AND d.id = u.id AND d.endpoint = u.endpoint
        WHERE d.id BETWEEN ${firstId} AND ${lastId}`,
  );
  return new Set(rows.map((row) => placeOf(row.endpoint, row.id)));
}

/** Lists which of these messages have events that wait for another attempt at the same endpoint (`placeOf`). */
export async function listWaitingMessages(
  db: Db,
  { messages }: { messages: readonly Pick<Retry, 'accountId' | 'endpoint' | 'messageId'>[] },
): Promise<Set<string>> {
  const keys = messages.map(({ messageId: id, ...rest }) => ({ ...rest, id }));
  const rows = await many<{ id: string; endpoint: number }>(
    db,
    sql`SELECT DISTINCT r.message_id AS id, r.endpoint FROM ${keysOf(keys)} AS u
        JOIN webhook_retry r ON r.account_id = u.account_id AND r.message_id = u.id AND r.endpoint = u.endpoint`,
  );
  return new Set(rows.map((row) => placeOf(row.endpoint, row.id)));
}

const DUE_RETRY = columns({
  accountId: as<number>('r.account_id'),
  endpoint: as<number>('r.endpoint'),
  id: as<string>('r.id'),
  messageId: as<string>('r.message_id'),
  seq: as<number>('r.seq'),
  kind: as<string>('d.kind'),
  data: as<object | null>('d.data'),
  status: as<number | null>('d.status'),
  at: as<Date>('d.at'),
  error: as<string | null>('d.error'),
  attempts: as<number>('d.attempts'),
});
export type DueRetry = RowOf<typeof DUE_RETRY>;

/** Number of events to load of an endpoint. */
export type RetryLimit = { readonly accountId: number; readonly endpoint: number; readonly limit: number };

/**
 * Lists the events of these endpoints whose next attempt is due, up to the limit of each, without those held already.
 */
export async function listDueRetries(
  db: Db,
  { wants, held }: { wants: readonly RetryLimit[]; held: readonly EventKey[] },
): Promise<DueRetry[]> {
  return many(
    db,
    sql`SELECT ${DUE_RETRY}
        FROM ${rowsOf(wants, {
          account_id: bigint((w) => w.accountId),
          endpoint: bigint((w) => w.endpoint),
          max: int((w) => w.limit),
        })} AS u
        CROSS JOIN LATERAL (
          SELECT * FROM webhook_retry w
          WHERE w.account_id = u.account_id AND w.endpoint = u.endpoint AND w.due_at <= now()
            AND (w.endpoint || '/' || w.id) <> ALL(${plainArray(held.map((one) => placeOf(one.endpoint, one.id)))}::text[])
          ORDER BY w.due_at LIMIT u.max
        ) AS r
        JOIN webhook_delivery d ON d.account_id = r.account_id AND d.id = r.id AND d.endpoint = r.endpoint
        ORDER BY r.due_at, r.seq`,
  );
}
