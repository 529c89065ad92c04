import type { Pool } from 'pg';
import { type BatchColumns, bigint, int, once, rowsOf, smallint, text, timestamptz, uuid } from '../core/db/columns.ts';
import {
  as,
  columns,
  constant,
  type Db,
  exec,
  many,
  one,
  onePlan,
  plainArray,
  type RowOf,
  type Sql,
  sql,
  timeOf,
} from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { isOwnerAlive } from '../core/db/worker-session.ts';
import { idFrom, isSingleId, isSmppId } from '../core/ids.ts';
import type { NotifyChannel } from '../core/notifications.ts';
import { ACCEPTED_KIND, eventIdOf, type NewWebhookEvent } from './events.ts';
import type { FactData, FactType } from './fact-types.ts';
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
 * Inserts events for the accounts whose webhook takes them or that keep a feed, one row per account, priority, kind and
 * status. The existence of a webhook is decided here and not in memory: a webhook that is registered has the events that
 * are published from then on, by every process.
 *
 * The first condition does not depend on the events, so it is evaluated once: if no account of the batch has a webhook
 * or a feed, the arrays are not even unpacked, which is two thirds of the cost.
 */
export async function insertOutbox(db: Db, events: readonly NewWebhookEvent[]): Promise<void> {
  const accountIds = plainArray([...new Set(events.map((e) => e.accountId))]);
  await exec(
    db,
    onePlan(
      writeAll(sql`SELECT uuidv7() AS seed, g.*, NULL::jsonb AS data FROM (
          SELECT u.account_id, u.priority, u.kind, u.status, array_agg(u.message_id) AS message_ids,
                 array_agg(coalesce(u.at, now())) AS at, array_agg(u.error) AS errors
          FROM ${rowsOf(events, EVENT_FIELDS)} AS u
          WHERE (EXISTS (SELECT FROM webhook_endpoint e WHERE e.account_id = ANY(${accountIds}::bigint[]) AND e.status <> 'disabled')
                 OR EXISTS (SELECT FROM account f WHERE f.id = ANY(${accountIds}::bigint[]) AND f.feed_since IS NOT NULL))
            AND (${isTaken(sql`u`)} OR ${isFed(sql`u`)})
          GROUP BY u.account_id, u.priority, u.kind, u.status, u.n / ${EVENTS_PER_ROW}
          ORDER BY u.account_id, min(u.n)) AS g`),
    ),
  );
}

/** Writes rows of events for the endpoints and the feeds of their accounts, under the same ids, and wakes the workers. */
const writeAll = (rows: Sql): Sql => sql`WITH told AS MATERIALIZED (${rows}),
  fed AS (
    INSERT INTO webhook_published (account_id, id, kind, status, message_ids, at, errors, data)
    SELECT t.account_id, t.seed, t.kind, t.status, t.message_ids, t.at, t.errors, t.data FROM told t
    WHERE ${isFed(sql`t`)} ORDER BY t.seed),
  written AS (
    INSERT INTO webhook_outbox (account_id, priority, seed, kind, status, message_ids, at, errors, data)
    SELECT t.account_id, t.priority, t.seed, t.kind, t.status, t.message_ids, t.at, t.errors, t.data FROM told t
    WHERE ${isTaken(sql`t`)} ORDER BY t.seed
    RETURNING id)
  SELECT pg_notify(${WEBHOOKS_CHANNEL}, '') WHERE EXISTS (SELECT FROM written)`;

/** True if one of the account's endpoints receives the events of a row. */
const isTaken = (row: Sql): Sql =>
  sql`EXISTS (SELECT FROM webhook_endpoint e WHERE e.account_id = ${row}.account_id AND ${takes(row)})`;

/** True if the account of a row keeps a feed. */
const isFed = (row: Sql): Sql =>
  sql`EXISTS (SELECT FROM account f WHERE f.id = ${row}.account_id AND f.feed_since IS NOT NULL)`;

/** An event that is not about a message. */
export type NewFact = {
  readonly [T in FactType]: {
    readonly accountId: number;
    readonly type: T;
    /** Subject of the event: events with the same one are delivered in order. */
    readonly about: string | number;
    readonly data: FactData<T>;
  };
}[FactType];

/**
 * Publishes events that are not about a message, in the transaction of what they tell. Those that no endpoint of their
 * account subscribes to, and no feed keeps, are not written.
 */
export async function publishFacts(tx: Db, facts: readonly NewFact[]): Promise<void> {
  if (facts.length === 0) return;
  await exec(
    tx,
    writeAll(sql`SELECT uuidv7() AS seed, g.* FROM (
        SELECT u.account_id, 1::smallint AS priority, u.kind, u.status, ARRAY[u.about] AS message_ids, ARRAY[now()] AS at,
               ARRAY[NULL::text] AS errors, u.data::jsonb AS data
        FROM ${rowsOf(facts, {
          account_id: bigint((f) => f.accountId),
          kind: text((f) => f.type),
          about: uuid((f) => idFrom(`${f.type.split('.', 1)[0]}/${f.accountId}/${f.about}`)),
          data: text((f) => JSON.stringify(f.data)),
          status: smallint(() => null),
          n: int((_, n) => n),
        })} AS u
        WHERE ${isTaken(sql`u`)} OR ${isFed(sql`u`)}
        ORDER BY u.n) AS g`),
  );
}

/** The accounts that take `message.accepted`, in memory: sends of all others pay nothing for it. */
export type Subscriptions = { takesAccepted(accountId: number): boolean };

/** Creates the list in memory; `reload` it after each change (`notifySubscriptions`). */
export function createSubscriptions(pool: Pool): Subscriptions & { reload(): Promise<void> } {
  let accountIds: ReadonlySet<number> = new Set();
  return {
    takesAccepted: (accountId) => accountIds.has(accountId),
    async reload() {
      const rows = await many<{ accountId: number }>(
        pool,
        sql`SELECT account_id AS "accountId" FROM webhook_endpoint
            WHERE status <> 'disabled' AND kinds @> ARRAY[${ACCEPTED_KIND}]::text[]
            UNION SELECT id FROM account WHERE feed_since IS NOT NULL`,
      );
      accountIds = new Set(rows.map((row) => row.accountId));
    },
  };
}

/** Makes all processes reload what they keep of accounts in memory, when the transaction commits. */
export const notifySubscriptions = (tx: Db): Promise<number> =>
  exec(tx, sql`SELECT pg_notify(${'heliograph_routing' satisfies NotifyChannel}, '')`);

/** True if an endpoint or the feed of the account takes events of a type that is not about messages. */
export const isWanted = async (
  db: Db,
  { accountId, type }: { accountId: number; type: FactType },
): Promise<boolean> => {
  const row = sql`(SELECT ${accountId}::bigint AS account_id, ${type}::text AS kind, NULL::smallint AS status) AS u`;
  const { wanted } = await one<{ wanted: boolean }>(
    db,
    sql`SELECT ${isTaken(sql`u`)} OR ${isFed(sql`u`)} AS wanted FROM ${row}`,
  );
  return wanted;
};

/** True if the endpoint `e` receives the events of a row. */
const takes = (row: Sql): Sql => sql`e.status <> 'disabled' AND ${row}.kind = ANY(e.kinds)
  AND (e.statuses IS NULL OR ${row}.status IS NULL OR ${row}.status = ANY(e.statuses))`;

/** Value of the column `endpoint` for rows that are not divided among the endpoints of their account yet. */
export const UNDIVIDED = -1;
/** Rows that a turn divides. */
const MAX_DIVIDED = 4000;

/**
 * Gives each endpoint of these accounts, which have several, its own copies of new rows, with the same event ids: from
 * then on no endpoint waits for another. Does nothing for accounts that another worker has taken over.
 */
export const divideOutbox = (
  pool: Pool,
  { owner, accountIds, heldIds }: { owner: number; accountIds: readonly number[]; heldIds: readonly number[] },
): Promise<number> =>
  transaction(pool, async (tx) => {
    const own = plainArray([...(await listOwnAccounts(tx, { owner, accountIds }))]);
    return exec(
      tx,
      sql`WITH e AS MATERIALIZED (
            SELECT account_id, ref, kinds, statuses, status, created_at FROM webhook_endpoint
            WHERE account_id = ANY(${own}::bigint[]) FOR SHARE),
          gone AS (
            DELETE FROM webhook_outbox WHERE id IN (
              SELECT id FROM webhook_outbox
              WHERE account_id = ANY(${own}::bigint[]) AND endpoint = ${constant(UNDIVIDED)}
                AND id <> ALL(${plainArray(heldIds)}::bigint[])
              ORDER BY id LIMIT ${MAX_DIVIDED})
            RETURNING *)
          INSERT INTO webhook_outbox (account_id, endpoint, priority, seed, kind, status, message_ids, at, errors, data)
          SELECT g.account_id, e.ref, g.priority, g.seed, g.kind, g.status, g.message_ids, g.at, g.errors, g.data
          FROM gone g JOIN e ON e.account_id = g.account_id AND ${takes(sql`g`)}
            AND (e.ref = 0 OR e.created_at <= ${timeOf(sql`g.seed`)})
          ORDER BY g.id, e.ref`,
    );
  });

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
  /** Its endpoints that are not paused (`ref`), and the default one even if it was deleted: what waits for it ends. */
  readonly endpoints: readonly number[];
  /** True if new events have to be divided among several. */
  readonly divides: boolean;
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
  const rows = await many<Omit<ClaimedAccount, 'endpoints'> & { endpoints: string }>(
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
        SELECT o.*, e.* FROM (
          SELECT account_id AS "accountId", true AS "mayHaveRetries" FROM taken
          UNION ALL
          SELECT w.account_id, w.account_id IN (SELECT account_id FROM waiting)
          FROM work w JOIN webhook_claim c ON c.account_id = w.account_id WHERE c.owner = ${owner}) AS o
        CROSS JOIN LATERAL (
          SELECT coalesce(string_agg(ref::text, ',' ORDER BY status = 'gone') FILTER (WHERE status <> 'paused'), '')
                   AS endpoints,
                 count(*) FILTER (WHERE status <> 'gone') > 1 AS divides
          FROM (SELECT ref, status FROM webhook_endpoint WHERE account_id = o."accountId"
                UNION ALL
                SELECT 0, 'gone'
                WHERE NOT EXISTS (SELECT FROM webhook_endpoint WHERE account_id = o."accountId" AND ref = 0)) AS own) AS e`),
  );
  return rows.map((row) => ({ ...row, endpoints: row.endpoints === '' ? [] : row.endpoints.split(',').map(Number) }));
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

/**
 * Keeps workers from recording results of an account's events, and from dividing them, until the transaction ends. What
 * they record afterwards is only about events that are still there. Call it late: workers of other accounts wait, too.
 */
export const claimEvents = (db: Db, { accountId }: { accountId: number }): Promise<number> =>
  exec(
    db,
    // An owner that is not alive: any worker takes the account over.
    sql`INSERT INTO webhook_claim AS c (account_id, owner) VALUES (${accountId}, 0)
        ON CONFLICT (account_id) DO UPDATE SET owner = c.owner`,
  );

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
  /** The endpoint (`ref`), also of a row that needs no division because the account has no other. */
  endpoint: as<number>(
    sql`CASE WHEN o.endpoint = ${constant(UNDIVIDED)} THEN coalesce(sole.ref, 0) ELSE o.endpoint END`,
  ),
  seed: as<string>('o.seed'),
});

/** The events in a row `o` of the outbox or of the feed. */
export const ROW_EVENTS = columns({
  kind: as<string>('o.kind'),
  data: as<object | null>('o.data'),
  status: as<number | null>('o.status'),
  errors: as<(string | null)[]>('o.errors'),
  messageIds: as<string>(`array_to_string(o.message_ids, ',')`),
  at: as<string>(`(SELECT string_agg((extract(epoch FROM a.at) * 1000)::bigint::text, ',' ORDER BY a.n)
                   FROM unnest(o.at) WITH ORDINALITY AS a (at, n))`),
});
type RowEvents = Omit<RowOf<typeof ROW_EVENTS>, 'messageIds' | 'at'> & { messageIds: string[]; at: Date[] };

/** Up to 500 events of one account, priority, kind and status. */
export type OutboxRow = RowOf<typeof OUTBOX_ROW> & RowEvents;

export const unpackRow = <R extends RowOf<typeof ROW_EVENTS>>(row: R) => ({
  ...row,
  messageIds: row.messageIds.split(','),
  at: row.at.split(',').map((ms) => new Date(Number(ms))),
});

/** Lists the events in a row, in their order. */
export const eventsOf = ({ seed, kind, data, status, messageIds, at, errors }: RowEvents & { readonly seed: string }) =>
  messageIds.map((messageId, place) => ({
    id: eventIdOf(seed, place),
    kind,
    data,
    messageId,
    status,
    at: at[place] ?? new Date(0),
    error: errors[place] ?? null,
  }));

/** Amount to load: this many rows, and of them those until which there are this many events. */
export type RowLimit = { readonly rows: number; readonly events: number };

/** Amount to load of an endpoint: of single sends, and of others. */
export type RowLimits = {
  readonly accountId: number;
  /** An endpoint (`ref`), or `UNDIVIDED`. */
  readonly endpoint: number;
  readonly single: RowLimit;
  readonly other: RowLimit;
};

/**
 * Lists the oldest rows of these endpoints, up to the limits of each, without those held already; those of single sends
 * come first. The last row of an endpoint may exceed its limit of events. Rows that are not divided are those of the only
 * endpoint, as long as the account has no other in this very snapshot.
 */
export async function listOutbox(
  db: Db,
  { wants, heldIds }: { wants: readonly RowLimits[]; heldIds: readonly number[] },
): Promise<OutboxRow[]> {
  const rows = await many(
    db,
    sql`SELECT ${OUTBOX_ROW}, ${ROW_EVENTS}
        FROM ${rowsOf(wants, {
          account_id: bigint((w) => w.accountId),
          endpoint: bigint((w) => w.endpoint),
          single_rows: int((w) => w.single.rows),
          single_events: int((w) => w.single.events),
          other_rows: int((w) => w.other.rows),
          other_events: int((w) => w.other.events),
        })} AS u
        CROSS JOIN LATERAL (
          SELECT count(*) AS n, min(ref) AS ref, bool_or(status = 'paused') AS paused
          FROM webhook_endpoint WHERE account_id = u.account_id) AS sole
        CROSS JOIN LATERAL (
          ${oldestOf(0, { rows: sql`u.single_rows`, events: sql`u.single_events` }, heldIds)}
          UNION ALL
          ${oldestOf(1, { rows: sql`u.other_rows`, events: sql`u.other_events` }, heldIds)}
        ) AS o
        WHERE u.endpoint <> ${constant(UNDIVIDED)} OR (sole.n <= 1 AND sole.paused IS NOT TRUE)
        ORDER BY o.priority, o.id`,
  );
  return rows.map(unpackRow);
}

const oldestOf = (
  priority: 0 | 1,
  { rows, events }: { rows: Sql; events: Sql },
  heldIds: readonly number[],
): Sql => sql`
  SELECT * FROM (
    SELECT *, sum(cardinality(message_ids)) OVER (ORDER BY id) - cardinality(message_ids) AS before
    FROM (SELECT * FROM webhook_outbox w
          WHERE w.account_id = u.account_id AND w.endpoint = u.endpoint AND w.priority = ${constant(priority)}
            AND w.id <> ALL(${plainArray(heldIds)}::bigint[])
          ORDER BY w.id LIMIT ${rows}) AS oldest
  ) AS counted
  WHERE before < ${events}`;

/** Lists those of these rows that still exist. */
export async function listOutboxIds(db: Db, { ids }: { ids: readonly number[] }): Promise<number[]> {
  const rows = await many<{ id: number }>(
    db,
    onePlan(sql`SELECT id FROM webhook_outbox WHERE id = ANY(${plainArray(ids)}::bigint[])`),
  );
  return rows.map(({ id }) => id);
}

/** Deletes rows whose events are all in the log. */
export async function deleteOutbox(db: Db, { ids }: { ids: readonly number[] }): Promise<number> {
  return exec(db, onePlan(sql`DELETE FROM webhook_outbox WHERE id = ANY(${plainArray(ids)}::bigint[])`));
}
