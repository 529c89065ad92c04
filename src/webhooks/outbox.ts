import { type BatchColumns, bigint, int, once, rowsOf, smallint, text, timestamptz, uuid } from '../core/db/columns.ts';
import {
  as,
  columns,
  constant,
  type Db,
  exec,
  many,
  onePlan,
  plainArray,
  type RowOf,
  type Sql,
  sql,
} from '../core/db/query.ts';
import { isOwnerAlive } from '../core/db/worker-session.ts';
import { isSingleId, isSmppId } from '../core/ids.ts';
import { EVENTS, type NewWebhookEvent, WEBHOOK_EVENT_KINDS, type WebhookEventKind } from './events.ts';
import { insertInbound, insertReceipts } from './smpp-outbox.ts';

/**
 * Publishes events to the webhooks and the SMPP binds of their accounts, in the transaction that makes the events true:
 * a committed event is delivered at least once, a rolled-back one never. Events of accounts without an active webhook,
 * and kinds that the form of the webhook does not have, are omitted.
 *
 * One statement per batch (and one for the binds, where events may concern them: states of messages whose id shows that
 * they came over SMPP, and inbound messages), sent before this returns, as a `burst` needs it. Call it after the statements that move the messages: events of one message are delivered in the
 * order of publication.
 */
export async function publishEvents(tx: Db, events: readonly NewWebhookEvent[]): Promise<void> {
  if (events.length === 0) return;
  const submitted = events.filter(({ kind, messageId }) => kind === 'DELIVERY' && isSmppId(messageId));
  const inbound = events.filter(({ kind }) => kind === 'INBOUND');
  await Promise.all([insertOutbox(tx, events), insertReceipts(tx, submitted), insertInbound(tx, inbound)]);
}

/** Estimate of the outbox rows that hold a number of events. */
export type RowFill = {
  /** Returns how many rows to load for this many events. */
  rowsFor(events: number): number;
  /** Records the numbers of events of rows that were loaded. */
  loaded(counts: readonly number[]): void;
};

/**
 * Creates an estimate of how full the rows are: those of a bulk send hold 500 events, those of single sends and of
 * receipts often one. With the number of rows for full ones, a turn loaded three events of such an account, and no more
 * than 100 a second.
 */
export function createRowFill(): RowFill {
  let perRow = EVENTS_PER_ROW;
  return {
    rowsFor: (events) => Math.ceil(events / perRow),
    loaded(counts) {
      if (counts.length > 0) perRow = counts.reduce((sum, count) => sum + count, 0) / counts.length;
    },
  };
}

/** NOTIFY channel that wakes workers when events are committed. */
export const WEBHOOKS_CHANNEL = 'heliograph_webhooks';

const KINDS_OF_B = plainArray(WEBHOOK_EVENT_KINDS.filter((kind) => EVENTS[kind].B));

/** Limits the events that one worker holds in memory per account, and may send again after a crash. */
const EVENTS_PER_ROW = 500;

/** Puts single sends first. All events of a message have the same priority, so that they stay in their order. */
const priorityOf = ({ messageId }: NewWebhookEvent): number => (isSingleId(messageId) ? 0 : 1);

const EVENT_FIELDS: BatchColumns<NewWebhookEvent> = once({
  account_id: bigint((e) => e.accountId),
  priority: smallint(priorityOf),
  kind: text((e) => e.kind),
  message_id: uuid((e) => e.messageId),
  status: smallint((e) => e.status ?? null),
  at: timestamptz((e) => e.at ?? null),
  error: text((e) => e.error ?? null),
  n: int((_, n) => n),
});

/**
 * Inserts events for the accounts whose webhook takes them, one row per account, priority, kind and status. The
 * existence of a webhook is decided here and not in memory: a webhook that is registered has the events that are
 * published from then on, by every process.
 *
 * The first condition does not depend on the events, so it is evaluated once: if no account of the batch has a webhook,
 * the arrays are not even unpacked, which is two thirds of the cost.
 */
export async function insertOutbox(db: Db, events: readonly NewWebhookEvent[]): Promise<void> {
  const accountIds = plainArray([...new Set(events.map((e) => e.accountId))]);
  await exec(
    db,
    onePlan(sql`WITH written AS (
        INSERT INTO webhook_outbox (account_id, priority, kind, status, message_ids, at, errors)
        SELECT u.account_id, u.priority, u.kind, u.status, array_agg(u.message_id), array_agg(coalesce(u.at, now())),
               array_agg(u.error)
        FROM ${rowsOf(events, EVENT_FIELDS)} AS u
        WHERE EXISTS (SELECT FROM webhook_endpoint e WHERE e.account_id = ANY(${accountIds}::bigint[]) AND e.status = 'active')
          AND EXISTS (SELECT FROM webhook_endpoint e
                      WHERE e.account_id = u.account_id AND e.status = 'active' AND (e.form = 'A' OR u.kind = ANY(${KINDS_OF_B}::text[])))
        GROUP BY u.account_id, u.priority, u.kind, u.status, u.n / ${EVENTS_PER_ROW}
        ORDER BY u.account_id, min(u.n)
        RETURNING id)
        SELECT pg_notify(${WEBHOOKS_CHANNEL}, '') WHERE EXISTS (SELECT FROM written)`),
  );
}

/** The accounts that have rows in the table, with one index look-up per account. */
const accountsIn = (table: 'webhook_outbox' | 'webhook_retry') => {
  const from = table === 'webhook_outbox' ? sql`webhook_outbox` : sql`webhook_retry`;
  const due = table === 'webhook_outbox' ? sql`true` : sql`t.due_at IS NOT NULL`;
  return sql`
    SELECT min(t.account_id) AS account_id FROM ${from} t WHERE ${due}
    UNION ALL
    SELECT (SELECT min(t.account_id) FROM ${from} t WHERE t.account_id > a.account_id AND ${due})
    FROM a WHERE a.account_id IS NOT NULL`;
};

/** An account with events to send now. */
export type ClaimedAccount = {
  readonly accountId: number;
  /** False when none of its events waits for another attempt. */
  readonly mayHaveRetries: boolean;
};

/**
 * Claims up to `limit` accounts that have events to send now and that no living worker has claimed. Returns these and
 * the accounts with such events that this owner had claimed before.
 *
 * The retries of accounts that it has just claimed are unknown: the last transaction of the worker before may have been
 * committed after this statement began.
 */
export async function claimAccounts(
  db: Db,
  { owner, limit }: { owner: number; limit: number },
): Promise<ClaimedAccount[]> {
  return many<ClaimedAccount>(
    db,
    onePlan(sql`WITH RECURSIVE fresh AS (SELECT * FROM (WITH RECURSIVE a AS (${accountsIn('webhook_outbox')}) SELECT * FROM a) AS f),
        waiting AS MATERIALIZED (SELECT * FROM (WITH RECURSIVE a AS (${accountsIn('webhook_retry')}) SELECT * FROM a) AS l
                                 WHERE account_id IS NOT NULL),
        later AS (SELECT * FROM waiting l
                  WHERE EXISTS (SELECT FROM webhook_retry r WHERE r.account_id = l.account_id AND r.due_at <= now())),
        work AS MATERIALIZED (SELECT * FROM (SELECT account_id FROM fresh WHERE account_id IS NOT NULL UNION SELECT account_id FROM later) AS w),
        dead AS MATERIALIZED (SELECT owner FROM (SELECT DISTINCT owner FROM webhook_claim) AS o
                              WHERE owner <> ${owner} AND NOT ${isOwnerAlive(sql`o.owner`)}),
        taken AS (
          INSERT INTO webhook_claim AS c (account_id, owner)
          SELECT w.account_id, ${owner}::bigint FROM work w LEFT JOIN webhook_claim x ON x.account_id = w.account_id
          WHERE x.owner IS NULL OR x.owner IN (SELECT owner FROM dead)
          ORDER BY w.account_id LIMIT ${limit}
          ON CONFLICT (account_id) DO UPDATE SET owner = excluded.owner WHERE c.owner IN (SELECT owner FROM dead)
          RETURNING c.account_id)
        SELECT account_id AS "accountId", true AS "mayHaveRetries" FROM taken
        UNION ALL
        SELECT w.account_id, w.account_id IN (SELECT account_id FROM waiting)
        FROM work w JOIN webhook_claim c ON c.account_id = w.account_id WHERE c.owner = ${owner}`),
  );
}

/** Lists which of these accounts are still this owner's; they stay so until the transaction ends. */
export async function listOwnAccounts(
  db: Db,
  { owner, accountIds }: { owner: number; accountIds: readonly number[] },
): Promise<Set<number>> {
  const rows = await many<{ accountId: number }>(
    db,
    onePlan(sql`SELECT account_id AS "accountId" FROM webhook_claim
        WHERE owner = ${owner} AND account_id = ANY(${plainArray(accountIds)}::bigint[]) ORDER BY account_id FOR SHARE`),
  );
  return new Set(rows.map((row) => row.accountId));
}

/** Releases accounts: any worker may claim them. */
export async function deleteClaims(
  db: Db,
  { owner, accountIds }: { owner: number; accountIds: readonly number[] },
): Promise<number> {
  return exec(
    db,
    sql`DELETE FROM webhook_claim WHERE owner = ${owner} AND account_id = ANY(${plainArray(accountIds)}::bigint[])`,
  );
}

const OUTBOX_ROW = columns({
  id: as<number>('o.id'),
  accountId: as<number>('o.account_id'),
  seed: as<string>('o.seed'),
  kind: as<WebhookEventKind>('o.kind'),
  status: as<number | null>('o.status'),
  errors: as<(string | null)[]>('o.errors'),
  messageIds: as<string>(`array_to_string(o.message_ids, ',')`),
  at: as<string>(`(SELECT string_agg((extract(epoch FROM a.at) * 1000)::bigint::text, ',' ORDER BY a.n)
                   FROM unnest(o.at) WITH ORDINALITY AS a (at, n))`),
});

/** Up to 500 events of one account, priority, kind and status. */
export type OutboxRow = Omit<RowOf<typeof OUTBOX_ROW>, 'messageIds' | 'at'> & { messageIds: string[]; at: Date[] };

/** Amount to load: this many rows, and of them those until which there are this many events. */
export type RowLimit = { readonly rows: number; readonly events: number };

/** Amount to load of an account: of single sends, and of others. */
export type RowLimits = { readonly accountId: number; readonly single: RowLimit; readonly other: RowLimit };

/**
 * Lists the oldest rows of these accounts, up to the limits of each, without those held already; those of single sends
 * come first. The last row of an account may exceed its limit of events.
 */
export async function listOutbox(
  db: Db,
  { wants, heldIds }: { wants: readonly RowLimits[]; heldIds: readonly number[] },
): Promise<OutboxRow[]> {
  const rows = await many(
    db,
    sql`SELECT ${OUTBOX_ROW}
        FROM ${rowsOf(wants, {
          account_id: bigint((w) => w.accountId),
          single_rows: int((w) => w.single.rows),
          single_events: int((w) => w.single.events),
          other_rows: int((w) => w.other.rows),
          other_events: int((w) => w.other.events),
        })} AS u
        CROSS JOIN LATERAL (
          ${oldestOf(0, { rows: sql`u.single_rows`, events: sql`u.single_events` }, heldIds)}
          UNION ALL
          ${oldestOf(1, { rows: sql`u.other_rows`, events: sql`u.other_events` }, heldIds)}
        ) AS o
        ORDER BY o.priority, o.id`,
  );
  return rows.map((row) => ({
    ...row,
    messageIds: row.messageIds.split(','),
    at: row.at.split(',').map((ms) => new Date(Number(ms))),
  }));
}

const oldestOf = (
  priority: 0 | 1,
  { rows, events }: { rows: Sql; events: Sql },
  heldIds: readonly number[],
): Sql => sql`
  SELECT * FROM (
    SELECT *, sum(cardinality(message_ids)) OVER (ORDER BY id) - cardinality(message_ids) AS before
    FROM (SELECT * FROM webhook_outbox w
          WHERE w.account_id = u.account_id AND w.priority = ${constant(priority)}
            AND w.id <> ALL(${plainArray(heldIds)}::bigint[])
          ORDER BY w.id LIMIT ${rows}) AS oldest
  ) AS counted
  WHERE before < ${events}`;

/** Deletes rows whose events are all in the log. */
export async function deleteOutbox(db: Db, { ids }: { ids: readonly number[] }): Promise<number> {
  return exec(db, onePlan(sql`DELETE FROM webhook_outbox WHERE id = ANY(${plainArray(ids)}::bigint[])`));
}
