import { plainArray } from '../../../platform/db/array.ts';
import { bigint, int, rowsOf, smallint, text, timestamptz, uuid } from '../../../platform/db/columns.ts';
import { type Db, exec, many, onePlan, sql } from '../../../platform/db/query.ts';
import { isAlive } from '../../../platform/db/worker-session.ts';

/** What can happen that a webhook is told of. */
export const WEBHOOK_EVENT_KINDS = ['DELIVERY', 'READ', 'INBOUND'] as const;
export type WebhookEventKind = (typeof WEBHOOK_EVENT_KINDS)[number];

export type NewWebhookEvent = {
  readonly accountId: number;
  readonly kind: WebhookEventKind;
  /** Of the message that was sent, or of the inbound one. */
  readonly messageId: string;
  /** Of a DELIVERY: the code of the specification's status table. */
  readonly status: number | null;
  /** When it happened; null: in this transaction. */
  readonly at: Date | null;
  /** What the carrier said of a failure. */
  readonly error: string | null;
};

/** Told when events are committed, so that workers look at once. */
export const WEBHOOKS_CHANNEL = 'heliograph_webhooks';

/** Bounds what one worker holds in memory of an account, and what it may have to send again after a crash. */
const EVENTS_A_ROW = 500;

/**
 * Writes events for the accounts whose webhook wants them, one row for each account, kind and status. For an account
 * without a webhook this costs a look into a small table.
 */
export async function insertOutbox(db: Db, events: readonly NewWebhookEvent[]): Promise<void> {
  await exec(
    db,
    onePlan(sql`WITH written AS (
        INSERT INTO webhook_outbox (account_id, kind, status, message_ids, at, errors)
        SELECT u.account_id, u.kind, u.status, array_agg(u.message_id), array_agg(coalesce(u.at, now())),
               array_agg(u.error)
        FROM ${rowsOf(events, {
          account_id: bigint((e) => e.accountId),
          kind: text((e) => e.kind),
          message_id: uuid((e) => e.messageId),
          status: smallint((e) => e.status),
          at: timestamptz((e) => e.at),
          error: text((e) => e.error),
          n: int((_, n) => n),
        })} AS u
        WHERE EXISTS (SELECT FROM webhook_endpoint e
                      WHERE e.account_id = u.account_id AND e.status = 'active' AND (e.form = 'A' OR u.kind = 'DELIVERY'))
        GROUP BY u.account_id, u.kind, u.status, u.n / ${EVENTS_A_ROW}
        ORDER BY u.account_id, min(u.n)
        RETURNING id)
        SELECT pg_notify(${WEBHOOKS_CHANNEL}, '') WHERE EXISTS (SELECT FROM written)`),
  );
}

/** Each account once that has a row in a table whose index begins with it, by as many look-ups as there are such. */
const accountsIn = (table: 'webhook_outbox' | 'webhook_retry') => {
  const from = table === 'webhook_outbox' ? sql`webhook_outbox` : sql`webhook_retry`;
  const due = table === 'webhook_outbox' ? sql`true` : sql`t.due_at IS NOT NULL`;
  return sql`
    SELECT min(t.account_id) AS account_id FROM ${from} t WHERE ${due}
    UNION ALL
    SELECT (SELECT min(t.account_id) FROM ${from} t WHERE t.account_id > a.account_id AND ${due})
    FROM a WHERE a.account_id IS NOT NULL`;
};

/**
 * Claims accounts that have events to be sent now and whose claim is free, up to `limit`. Answers those and the accounts
 * that were claimed by this owner before and have such events.
 */
export async function claimAccounts(db: Db, { owner, limit }: { owner: number; limit: number }): Promise<number[]> {
  const rows = await many<{ accountId: number }>(
    db,
    sql`WITH RECURSIVE fresh AS (SELECT * FROM (WITH RECURSIVE a AS (${accountsIn('webhook_outbox')}) SELECT * FROM a) AS f),
        later AS (SELECT * FROM (WITH RECURSIVE a AS (${accountsIn('webhook_retry')}) SELECT * FROM a) AS l
                  WHERE EXISTS (SELECT FROM webhook_retry r WHERE r.account_id = l.account_id AND r.due_at <= now())),
        work AS MATERIALIZED (SELECT account_id FROM fresh WHERE account_id IS NOT NULL UNION SELECT account_id FROM later),
        dead AS MATERIALIZED (SELECT owner FROM (SELECT DISTINCT owner FROM webhook_claim) AS o
                              WHERE owner <> ${owner} AND NOT ${isAlive(sql`o.owner`)}),
        taken AS (
          INSERT INTO webhook_claim AS c (account_id, owner)
          SELECT w.account_id, ${owner}::bigint FROM work w LEFT JOIN webhook_claim x ON x.account_id = w.account_id
          WHERE x.owner IS NULL OR x.owner IN (SELECT owner FROM dead)
          ORDER BY w.account_id LIMIT ${limit}
          ON CONFLICT (account_id) DO UPDATE SET owner = excluded.owner WHERE c.owner IN (SELECT owner FROM dead)
          RETURNING c.account_id)
        SELECT account_id AS "accountId" FROM taken
        UNION ALL
        SELECT w.account_id FROM work w JOIN webhook_claim c ON c.account_id = w.account_id WHERE c.owner = ${owner}`,
  );
  return rows.map((row) => row.accountId);
}

/** Which of these accounts are still this owner's, until the transaction ends. */
export async function listOwnAccounts(
  db: Db,
  { owner, accountIds }: { owner: number; accountIds: readonly number[] },
): Promise<Set<number>> {
  const rows = await many<{ accountId: number }>(
    db,
    sql`SELECT account_id AS "accountId" FROM webhook_claim
        WHERE owner = ${owner} AND account_id = ANY(${plainArray(accountIds)}::bigint[]) ORDER BY account_id FOR SHARE`,
  );
  return new Set(rows.map((row) => row.accountId));
}

/** Gives accounts back: any worker may claim them. */
export async function deleteClaims(
  db: Db,
  { owner, accountIds }: { owner: number; accountIds: readonly number[] },
): Promise<number> {
  return exec(
    db,
    sql`DELETE FROM webhook_claim WHERE owner = ${owner} AND account_id = ANY(${plainArray(accountIds)}::bigint[])`,
  );
}

export type OutboxRow = {
  id: number;
  accountId: number;
  seed: string;
  kind: WebhookEventKind;
  status: number | null;
  messageIds: string[];
  at: Date[];
  errors: (string | null)[];
};

export type Want = { readonly accountId: number; readonly limit: number };

/** The oldest rows of these accounts, so many of each, without those that are held already. */
export async function listOutbox(
  db: Db,
  { wants, heldIds }: { wants: readonly Want[]; heldIds: readonly number[] },
): Promise<OutboxRow[]> {
  const rows = await many<Omit<OutboxRow, 'messageIds' | 'at'> & { messageIds: string; at: string }>(
    db,
    sql`SELECT o.id, o.account_id AS "accountId", o.seed, o.kind, o.status, o.errors,
               array_to_string(o.message_ids, ',') AS "messageIds",
               (SELECT string_agg((extract(epoch FROM a.at) * 1000)::bigint::text, ',' ORDER BY a.n)
                FROM unnest(o.at) WITH ORDINALITY AS a (at, n)) AS at
        FROM ${rowsOf(wants, { account_id: bigint((w) => w.accountId), most: int((w) => w.limit) })} AS u
        CROSS JOIN LATERAL (
          SELECT * FROM webhook_outbox w
          WHERE w.account_id = u.account_id AND w.id <> ALL(${plainArray(heldIds)}::bigint[]) ORDER BY w.id LIMIT u.most
        ) AS o
        ORDER BY o.id`,
  );
  return rows.map((row) => ({
    ...row,
    messageIds: row.messageIds.split(','),
    at: row.at.split(',').map((ms) => new Date(Number(ms))),
  }));
}

/** Removes rows whose events are all in the log. */
export async function deleteOutbox(db: Db, { ids }: { ids: readonly number[] }): Promise<number> {
  return exec(db, sql`DELETE FROM webhook_outbox WHERE id = ANY(${plainArray(ids)}::bigint[])`);
}
