import { STATUS } from '../../../messaging/states.ts';
import { isServedHere } from '../../../identity/accounts/away.ts';
import { type Db, many, sql } from '../../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../../platform/db/select.ts';

/** Maximum number of differences that a check lists. */
export const MAX_LISTED = 20;

const BOOK_TOTALS = columns({
  currency: as<string>(`coalesce(b.currency, '?')`),
  outsideMicros: as<number>(`coalesce(sum(s.micros) FILTER (WHERE s.book = 'outside'), 0)::bigint`),
  availableMicros: as<number>(`coalesce(sum(s.micros) FILTER (WHERE s.book = 'available'), 0)::bigint`),
  frozenMicros: as<number>(`coalesce(sum(s.micros) FILTER (WHERE s.book = 'frozen'), 0)::bigint`),
  earnedMicros: as<number>(`coalesce(sum(s.micros) FILTER (WHERE s.book = 'earned'), 0)::bigint`),
});
export type BookTotals = RowOf<typeof BOOK_TOTALS>;

/** Lists the totals of each book over the ledgers of all accounts, by currency. */
export async function listBookTotals(db: Db): Promise<BookTotals[]> {
  return many(
    db,
    sql`WITH side AS (
          SELECT account_id, to_book AS book, amount_micros AS micros FROM ledger_entry
          UNION ALL SELECT account_id, from_book, -amount_micros FROM ledger_entry)
        SELECT ${BOOK_TOTALS}
        FROM side s LEFT JOIN credit_balance b ON b.account_id = s.account_id GROUP BY 1 ORDER BY 1`,
  );
}

export type Difference = {
  accountId: number;
  /** Subject of the comparison, as in the response. */
  of: string;
  expected: number;
  found: number;
};

const FROZEN = sql`(SELECT account_id, sum(micros)::bigint AS micros FROM credit_frozen GROUP BY account_id)`;

/** Lists balances, of accounts that are served here, that do not match the ledger. A single statement, so that both sides are of the same instant. */
export async function listBalanceDifferences(db: Db): Promise<Difference[]> {
  return many(
    db,
    sql`WITH books AS (
          SELECT account_id, sum(micros) FILTER (WHERE book = 'available')::bigint AS available,
                 sum(micros) FILTER (WHERE book = 'frozen')::bigint AS frozen
          FROM (SELECT account_id, to_book AS book, amount_micros AS micros FROM ledger_entry
                UNION ALL SELECT account_id, from_book, -amount_micros FROM ledger_entry) AS side
          GROUP BY account_id),
        both_sides AS (
          SELECT b.account_id, 'available' AS of, coalesce(k.available, 0) AS expected, b.available_micros AS found
          FROM credit_balance b LEFT JOIN books k USING (account_id)
          UNION ALL
          SELECT b.account_id, 'frozen', coalesce(k.frozen, 0), coalesce(f.micros, 0)
          FROM credit_balance b LEFT JOIN books k USING (account_id) LEFT JOIN ${FROZEN} AS f USING (account_id))
        SELECT account_id AS "accountId", of, expected, found FROM both_sides
        WHERE expected <> found AND ${isServedHere(sql`both_sides.account_id`)}
        ORDER BY account_id, of LIMIT ${MAX_LISTED}`,
  );
}

/**
 * Lists accounts that are served here and whose frozen credit is not the sum of its reservations: waiting messages,
 * messages whose price a receipt may still return, and the rest of the reserves of campaigns. In a campaign with one
 * channel the price of each message is frozen separately. A combined campaign keeps its reserve, which only earned
 * amounts leave.
 */
export async function listFrozenDifferences(db: Db): Promise<Difference[]> {
  return many(
    db,
    sql`WITH reserved AS (
          SELECT m.account_id, m.price_micros AS micros
          FROM dispatch_chunk c CROSS JOIN unnest(c.ids) AS i (id)
          JOIN message m ON m.account_id = c.account_id AND m.id = i.id
          LEFT JOIN message_state s ON s.account_id = c.account_id AND s.id = i.id
          WHERE s.id IS NULL AND NOT m.keeps_reserve AND i.id <> ALL (coalesce(c.withdrawn, '{}'))
          UNION ALL
          SELECT m.account_id, m.price_micros
          FROM message_state s JOIN message m ON m.account_id = s.account_id AND m.id = s.id
          WHERE s.credit_held AND NOT m.keeps_reserve
          UNION ALL
          SELECT c.account_id, c.reserved_micros - CASE WHEN position('_' IN c.sending_mode) > 0
                   THEN (SELECT coalesce(sum(t.cost_micros), 0) FROM traffic_hour t
                         WHERE t.account_id = c.account_id AND t.campaign_id = c.id AND t.campaign_id <> 0)
                   ELSE (SELECT coalesce(sum(m.price_micros), 0)
                         FROM campaign_batch b CROSS JOIN unnest(b.message_ids) AS i (id)
                         JOIN message m ON m.account_id = b.account_id AND m.id = i.id
                         WHERE b.account_id = c.account_id AND b.campaign_id = c.id) END
          FROM campaign_job j JOIN campaign c ON c.account_id = j.account_id AND c.id = j.campaign_id),
        expected AS (SELECT account_id, sum(micros)::bigint AS micros FROM reserved GROUP BY account_id)
        SELECT account_id AS "accountId", 'frozen' AS of, coalesce(e.micros, 0) AS expected, coalesce(f.micros, 0) AS found
        FROM expected e FULL JOIN ${FROZEN} AS f USING (account_id)
        WHERE coalesce(e.micros, 0) <> coalesce(f.micros, 0) AND ${isServedHere(sql`coalesce(e.account_id, f.account_id)`)}
        ORDER BY account_id LIMIT ${MAX_LISTED}`,
  );
}

type Hours = { readonly from: Date; readonly to: Date; readonly firstId: string; readonly endId: string };

/** Lists accounts that are served here and whose hourly figures do not match the states of the messages accepted from `from` until `to`. */
export async function listFigureDifferences(db: Db, { from, to, firstId, endId }: Hours): Promise<Difference[]> {
  return many(
    db,
    sql`WITH counted AS (
          SELECT account_id, sum(delivered)::bigint AS delivered, sum(failed)::bigint AS failed, sum(read)::bigint AS read
          FROM traffic_hour WHERE hour >= ${from} AND hour < ${to} GROUP BY account_id),
        states AS (
          SELECT s.account_id, count(*) FILTER (WHERE s.status = ${STATUS.DELIVERED}) AS delivered,
                 count(*) FILTER (WHERE s.status NOT IN (${STATUS.UNKNOWN}, ${STATUS.ACCEPTED}, ${STATUS.DELIVERED}))
                   AS failed,
                 count(s.read_at) AS read
          FROM message_state s JOIN message m ON m.account_id = s.account_id AND m.id = s.id
            AND m.id >= ${firstId} AND m.id < ${endId}
          WHERE s.id >= ${firstId} AND s.id < ${endId} AND NOT m.simulation GROUP BY s.account_id)
        SELECT account_id AS "accountId", v.of, v.expected, v.found
        FROM states s FULL JOIN counted c USING (account_id)
        CROSS JOIN LATERAL (VALUES
          ('delivered', coalesce(s.delivered, 0), coalesce(c.delivered, 0)),
          ('failed', coalesce(s.failed, 0), coalesce(c.failed, 0)),
          ('read', coalesce(s.read, 0), coalesce(c.read, 0))) AS v (of, expected, found)
        WHERE v.expected <> v.found AND ${isServedHere(sql`coalesce(s.account_id, c.account_id)`)}
        ORDER BY account_id, v.of LIMIT ${MAX_LISTED}`,
  );
}

const PARKED_RECEIPTS = columns({
  connection: as<string>(`coalesce(c.name, '#' || u.connection_id)`),
  reason: as<string>('u.reason'),
  receipts: as<number>('count(*)'),
  oldest: as<Date>('min(u.received_at)'),
});
export type ParkedReceipts = RowOf<typeof PARKED_RECEIPTS>;

/** Counts the receipts that match no message, or several, by connection and reason. */
export async function listParkedReceipts(db: Db): Promise<ParkedReceipts[]> {
  return many(
    db,
    sql`SELECT ${PARKED_RECEIPTS}
        FROM receipt_unmatched u LEFT JOIN connection c ON c.id = u.connection_id
        GROUP BY 1, 2 ORDER BY receipts DESC LIMIT ${MAX_LISTED}`,
  );
}

/** Limits the duration of every further statement in this transaction. */
export async function updateStatementTimeout(tx: Db, { seconds }: { seconds: number }): Promise<void> {
  await many(tx, sql`SELECT set_config('statement_timeout', ${String(seconds * 1000)}, true)`);
}
