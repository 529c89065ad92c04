import type { Pool } from 'pg';
import { type Task, untilIdle } from '../core/background.ts';
import type { Config } from '../core/config.ts';
import { bigint, insertRows, int, rowsOf, smallint, text, timestamptz, uuid } from '../core/db/columns.ts';
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
} from '../core/db/query.ts';
import { isOwnerAlive } from '../core/db/worker-session.ts';
import { firstIdAt } from '../core/ids.ts';
import { OPEN_STATES, STATUS } from '../core/message-state.ts';
import { type Clock, DAY_MS, HOUR_MS } from '../core/time.ts';
import type { NewWebhookEvent } from './events.ts';

/** Time that receipts and inbound messages wait for a receiver that takes them. */
export const KEEP_MS = 7 * DAY_MS;
/** Longer than the maximum time ahead of a schedule plus its validity and the wait for its receipt. */
const KEEP_REQUESTS_MS = 400 * DAY_MS;
const LIMIT = 10_000;

type TaskDeps = {
  readonly pool: Pool;
  readonly clock: Clock;
  readonly config: Pick<Config, 'retentionDays'>;
};

/**
 * Deletes deliveries that no receiver has fetched within seven days, and requests for receipts that will never come.
 */
export const smppOutboxTasks = ({ pool, clock, config }: TaskDeps): Task[] => [
  {
    name: 'old SMPP deliveries',
    work: untilIdle(async () => {
      const now = clock.now().getTime();
      const deleted = await deleteUnfetched(pool, { before: new Date(now - KEEP_MS), limit: LIMIT });
      const beforeId = firstIdAt(new Date(now - KEEP_REQUESTS_MS));
      const old = { beforeId, limit: LIMIT };
      const retained = firstIdAt(new Date(now - config.retentionDays * DAY_MS));
      const ids = await deleteOldIds(pool, { beforeId: retained, limit: LIMIT });
      return deleted + ids + (await deleteOldRequests(pool, old)) + (await deleteOldReplacements(pool, old));
    }, HOUR_MS),
  },
];

/** NOTIFY channel that wakes the processes with receivers when deliveries are put into the outbox. */
export const SMPP_CHANNEL = 'heliograph_smpp';

/** A submitted address. */
export type SubmittedAddresses = {
  readonly sourceTon: number;
  readonly sourceNpi: number;
  readonly source: string;
  readonly destTon: number;
  readonly destNpi: number;
  readonly destination: string;
};

/** The receipts that an SMPP submit requested. */
export type ReceiptRequest = SubmittedAddresses & {
  readonly accountId: number;
  readonly messageId: string;
  readonly credentialId: number;
  /** The id in the submit_sm_resp, exactly as the client was told it. */
  readonly shownId: string;
  /** registered_delivery, as submitted; 0 for a row that only keeps the id. */
  readonly registered: number;
  /** user_message_reference, as submitted; null without it. */
  readonly reference: number | null;
  /** The beginning of the text. */
  readonly quote: string;
};

/** Stores the receipt requests. The statement is sent before this returns, as a `burst` needs it. */
export async function insertReceiptRequests(db: Db, rows: readonly ReceiptRequest[]): Promise<void> {
  if (rows.length === 0) return;
  await exec(
    db,
    onePlan(
      insertRows('smpp_receipt', rows, {
        accountId: bigint,
        messageId: uuid,
        credentialId: bigint,
        shownId: text,
        registered: smallint,
        reference: int,
        sourceTon: smallint,
        sourceNpi: smallint,
        source: text,
        destTon: smallint,
        destNpi: smallint,
        destination: text,
        quote: text,
      }),
    ),
  );
}

/**
 * The bits of registered_delivery: every final state, failures only, successes only, and intermediate notifications.
 */
const MODE = 3;
const INTERMEDIATE = 16;

/** True if registered_delivery requests a receipt for a state (SMPP 3.4, 5.2.17). */
const isAskedFor = sql`CASE
  WHEN w.status = ${constant(STATUS.ACCEPTED)} THEN w.registered & ${constant(INTERMEDIATE)} <> 0
  WHEN w.status = ${constant(STATUS.UNKNOWN)} THEN false
  WHEN w.status = ${constant(STATUS.DELIVERED)} THEN w.registered & ${constant(MODE)} IN (1, 3)
  ELSE w.registered & ${constant(MODE)} IN (1, 2) END`;

/** True for a row with an id that does not follow from the message's: it is needed as long as the message is stored. */
const isCounted = (row: Sql): Sql => sql`length(${row}.shown_id) < 32`;

/**
 * Puts the requested receipts into the outbox, in the order of the states, and deletes the requests of messages with a
 * final state, except for those with ids that only they know. Receipts for a credential that was deleted are omitted.
 * The statement is sent before this returns.
 */
export async function insertReceipts(db: Db, states: readonly NewWebhookEvent[]): Promise<void> {
  if (states.length === 0) return;
  await exec(
    db,
    sql`WITH wanted AS MATERIALIZED (
          SELECT u.n, u.status, coalesce(u.at, now()) AS at, r.*
          FROM ${rowsOf(states, {
            account_id: bigint((s) => s.accountId),
            message_id: uuid((s) => s.messageId),
            status: smallint((s) => s.status ?? null),
            at: timestamptz((s) => s.at ?? null),
            n: int((_, n) => n),
          })} AS u
          JOIN smpp_receipt r ON r.account_id = u.account_id AND r.message_id = u.message_id),
        ended AS (
          DELETE FROM smpp_receipt r USING wanted w
          WHERE r.account_id = w.account_id AND r.message_id = w.message_id AND w.status NOT IN (${OPEN_STATES})
            AND NOT ${isCounted(sql`w`)}),
        kept AS (
          UPDATE smpp_receipt r SET registered = 0 FROM wanted w
          WHERE r.account_id = w.account_id AND r.message_id = w.message_id AND w.status NOT IN (${OPEN_STATES})
            AND ${isCounted(sql`w`)}),
        written AS (
          INSERT INTO smpp_outbox (account_id, credential_id, message_id, status, at, shown_id, reference, source_ton,
            source_npi, source, dest_ton, dest_npi, destination, quote)
          SELECT w.account_id, w.credential_id, w.message_id, w.status, w.at, w.shown_id, w.reference, w.source_ton,
            w.source_npi, w.source, w.dest_ton, w.dest_npi, w.destination, w.quote
          FROM wanted w
          WHERE ${isAskedFor}
            AND EXISTS (SELECT FROM smpp_credential c WHERE c.account_id = w.account_id AND c.id = w.credential_id)
          ORDER BY w.n
          RETURNING id)
        SELECT pg_notify(${SMPP_CHANNEL}, '') WHERE EXISTS (SELECT FROM written)`,
  );
}

/**
 * Puts inbound messages into the outbox if their accounts have a credential that takes them. The first condition is
 * evaluated once: without such a credential in the batch, nothing else is done. The statement is sent before this
 * returns.
 */
export async function insertInbound(db: Db, messages: readonly NewWebhookEvent[]): Promise<void> {
  if (messages.length === 0) return;
  const accountIds = plainArray([...new Set(messages.map((message) => message.accountId))]);
  await exec(
    db,
    onePlan(sql`WITH written AS (
          INSERT INTO smpp_outbox (account_id, message_id, at)
          SELECT i.account_id, i.id, i.received_at
          FROM ${rowsOf(messages, {
            account_id: bigint((m) => m.accountId),
            message_id: uuid((m) => m.messageId),
            n: int((_, n) => n),
          })} AS u
          JOIN inbound_message i ON i.account_id = u.account_id AND i.id = u.message_id AND i.channel = 'SMS'
          WHERE EXISTS (SELECT FROM smpp_credential c WHERE c.account_id = ANY (${accountIds}::bigint[]) AND c.inbound)
            AND EXISTS (SELECT FROM smpp_credential c WHERE c.account_id = u.account_id AND c.inbound)
          ORDER BY u.n
          RETURNING id)
        SELECT pg_notify(${SMPP_CHANNEL}, '') WHERE EXISTS (SELECT FROM written)`),
  );
}

const DELIVERY = columns({
  id: as<number>('o.id'),
  accountId: as<number>('o.account_id'),
  credentialId: as<number | null>('o.credential_id'),
  messageId: as<string>('o.message_id'),
  status: as<number | null>('o.status'),
  at: as<Date>('o.at'),
  shownId: as<string>("coalesce(o.shown_id, '')"),
  reference: as<number | null>('o.reference'),
  sourceTon: as<number>('coalesce(o.source_ton, 0)'),
  sourceNpi: as<number>('coalesce(o.source_npi, 0)'),
  source: as<string>("coalesce(i.source, o.source, '')"),
  destTon: as<number>('coalesce(o.dest_ton, 0)'),
  destNpi: as<number>('coalesce(o.dest_npi, 0)'),
  destination: as<string>("coalesce(i.destination, o.destination, '')"),
  /** The beginning of a sent message, or an inbound one. */
  text: as<string>("coalesce(i.body, o.quote, '')"),
  failures: as<number>('o.failures'),
});
/** A receipt (with the addresses of its submit) or, with a null status, an inbound message. */
export type DeliveryRow = RowOf<typeof DELIVERY>;

/** The number of deliveries wanted: receipts of a credential, or (null) inbound messages of an account. */
export type Want = { readonly accountId: number; readonly credentialId: number | null; readonly limit: number };

/**
 * Claims deliveries that are due, oldest first, up to the limit of each want. If a message has an earlier delivery, the
 * next one waits until that is answered.
 */
export async function claimDeliveries(
  db: Db,
  { owner, wants }: { owner: number; wants: readonly Want[] },
): Promise<DeliveryRow[]> {
  return many(
    db,
    sql`WITH claimed AS (
          UPDATE smpp_outbox o SET owner = ${owner}
          FROM ${rowsOf(wants, {
            account_id: bigint((w) => w.accountId),
            credential_id: bigint((w) => w.credentialId),
            most: int((w) => w.limit),
          })} AS u
          CROSS JOIN LATERAL (
            SELECT id FROM (${dueOf(sql`q.credential_id = u.credential_id`)}) AS receipt
            UNION ALL
            SELECT id FROM (${dueOf(sql`u.credential_id IS NULL AND q.credential_id IS NULL`)}) AS inbound
          ) AS due
          WHERE o.id = due.id
          RETURNING o.*)
        SELECT ${DELIVERY}
        FROM claimed o
        LEFT JOIN inbound_message i ON o.status IS NULL AND i.account_id = o.account_id AND i.id = o.message_id
        ORDER BY o.id`,
  );
}

const dueOf = (own: Sql): Sql => sql`SELECT q.id FROM smpp_outbox q
  WHERE q.account_id = u.account_id AND ${own} AND q.owner IS NULL AND q.due_at <= now()
    AND NOT EXISTS (SELECT FROM smpp_outbox e WHERE e.message_id = q.message_id AND e.id < q.id)
  ORDER BY q.due_at, q.id LIMIT u.most FOR UPDATE SKIP LOCKED`;

/** Deletes deliveries that were answered. */
export const deleteDeliveries = (db: Db, { ids }: { ids: readonly number[] }): Promise<number> =>
  exec(db, onePlan(sql`DELETE FROM smpp_outbox WHERE id = ANY (${plainArray(ids)}::bigint[])`));

/** A delivery that its receiver did not take. */
export type Postponed = {
  readonly id: number;
  /** Seconds until the next try. */
  readonly waitSeconds: number;
  /** False for one that was not tried, as its bind closed. */
  readonly failed: boolean;
};

/** Returns deliveries of this owner to any process with a receiver, after a while. */
export const updatePostponed = (
  db: Db,
  { owner, rows }: { owner: number; rows: readonly Postponed[] },
): Promise<number> =>
  exec(
    db,
    sql`UPDATE smpp_outbox o SET owner = NULL, due_at = now() + make_interval(secs => u.wait),
          failures = least(o.failures + u.failed, 32000)
        FROM ${rowsOf(rows, {
          id: bigint((r) => r.id),
          wait: int((r) => r.waitSeconds),
          failed: int((r) => (r.failed ? 1 : 0)),
        })} AS u
        WHERE o.id = u.id AND o.owner = ${owner}`,
  );

/**
 * Releases deliveries claimed by processes that died, and those this one has claimed without knowing it, because the
 * response to its claim was lost. Returns the number of rows.
 */
export const updateStray = (
  db: Db,
  { owner, heldIds }: { owner: number; heldIds: readonly number[] },
): Promise<number> =>
  exec(
    db,
    sql`WITH dead AS MATERIALIZED (
          SELECT o.owner FROM (SELECT DISTINCT owner FROM smpp_outbox WHERE owner IS NOT NULL) AS o
          WHERE o.owner <> ${owner} AND NOT ${isOwnerAlive(sql`o.owner`)})
        UPDATE smpp_outbox SET owner = NULL
        WHERE owner IN (SELECT owner FROM dead) OR (owner = ${owner} AND id <> ALL (${plainArray(heldIds)}::bigint[]))`,
  );

/** Deletes deliveries not fetched since `before`, and those for a credential that was deleted. */
const deleteUnfetched = (db: Db, { before, limit }: { before: Date; limit: number }): Promise<number> =>
  exec(
    db,
    sql`DELETE FROM smpp_outbox WHERE id IN (
          SELECT o.id FROM smpp_outbox o
          WHERE o.at < ${before} OR (o.credential_id IS NOT NULL AND NOT EXISTS (
            SELECT FROM smpp_credential c WHERE c.account_id = o.account_id AND c.id = o.credential_id))
          LIMIT ${limit})`,
  );

/** Deletes the request for receipts of a message. */
export const deleteReceiptRequest = (
  db: Db,
  { accountId, messageId }: { accountId: number; messageId: string },
): Promise<number> =>
  exec(db, sql`DELETE FROM smpp_receipt WHERE account_id = ${accountId} AND message_id = ${messageId}`);

/** Deletes the records of replaced messages with an id below `beforeId`. */
const deleteOldReplacements = (db: Db, { beforeId, limit }: { beforeId: string; limit: number }): Promise<number> =>
  exec(
    db,
    sql`DELETE FROM smpp_replacement WHERE (account_id, message_id) IN (
          SELECT account_id, message_id FROM smpp_replacement WHERE message_id < ${beforeId}::uuid LIMIT ${limit})`,
  );

/** Deletes requests for receipts of messages with an id below `beforeId`: no more receipts arrive for these. */
const deleteOldRequests = (db: Db, { beforeId, limit }: { beforeId: string; limit: number }): Promise<number> =>
  exec(
    db,
    sql`DELETE FROM smpp_receipt WHERE (account_id, message_id) IN (
          SELECT account_id, message_id FROM smpp_receipt WHERE message_id < ${beforeId}::uuid LIMIT ${limit})`,
  );

/** Deletes rows that only keep an id, with an id of the message below `beforeId`, when the message is deleted. */
const deleteOldIds = (db: Db, { beforeId, limit }: { beforeId: string; limit: number }): Promise<number> =>
  exec(
    db,
    sql`DELETE FROM smpp_receipt WHERE (account_id, message_id) IN (
          SELECT r.account_id, r.message_id FROM smpp_receipt r
          WHERE r.registered = 0 AND r.message_id < ${beforeId}::uuid
            AND NOT EXISTS (SELECT FROM message m WHERE m.account_id = r.account_id AND m.id = r.message_id)
          LIMIT ${limit})`,
  );

/** Deliveries that wait for receivers. */
export type WaitingDeliveries = { readonly count: number; readonly oldestSeconds: number | null };

/** Counts the deliveries that wait for the receivers of all accounts. */
export const countDeliveries = (db: Db): Promise<WaitingDeliveries> =>
  one(
    db,
    sql`SELECT count(*) AS count, extract(epoch FROM now() - min(at))::float8 AS "oldestSeconds" FROM smpp_outbox`,
  );
