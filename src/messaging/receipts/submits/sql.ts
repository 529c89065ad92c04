import { type Db, many, sql } from '../../../platform/db/query.ts';

export type HourOfSubmits = {
  connectionId: number;
  hour: Date;
  final: number;
  open: number;
  oldestOpen: Date | null;
};

/** From `from` up to, not including, `to`; null is every connection. */
export type Period = { readonly from: Date; readonly to: Date; readonly connectionId: number | null };

/**
 * What carriers took and gave an id for, by connection and hour of the submit (UTC), each part of a long message
 * counted by itself. A part whose message has ended otherwise (by a failed part, by our own timer) is at its end too.
 */
export async function countSubmitsByHour(db: Db, { from, to, connectionId }: Period): Promise<HourOfSubmits[]> {
  return many(
    db,
    sql`WITH taken AS (
          SELECT account_id, id, connection_id, carrier_id, status NOT IN (0, 1) AS final, submitted_at
          FROM message_state
          WHERE submitted_at >= ${from} AND submitted_at < ${to}
            AND (${connectionId}::bigint IS NULL OR connection_id = ${connectionId})),
        submit AS (
          SELECT connection_id, submitted_at, final FROM taken WHERE carrier_id IS NOT NULL
          UNION ALL
          SELECT p.connection_id, t.submitted_at, t.final OR p.status NOT IN (0, 1)
          FROM taken t JOIN message_part p ON p.account_id = t.account_id AND p.message_id = t.id)
        SELECT connection_id AS "connectionId", date_trunc('hour', submitted_at) AS hour,
               count(*) FILTER (WHERE final) AS final, count(*) FILTER (WHERE NOT final) AS open,
               min(submitted_at) FILTER (WHERE NOT final) AS "oldestOpen"
        FROM submit GROUP BY 1, 2`,
  );
}

/** Parked receipts by connection and hour of arrival (UTC); repeats of one receipt count once. */
export async function countUnmatchedByHour(
  db: Db,
  { from, to, connectionId }: Period,
): Promise<{ connectionId: number; hour: Date; unmatched: number }[]> {
  return many(
    db,
    sql`SELECT connection_id AS "connectionId", date_trunc('hour', received_at) AS hour,
               count(DISTINCT receipt -> 'carrierIds' ->> 0) AS unmatched
        FROM receipt_unmatched
        WHERE received_at >= ${from} AND received_at < ${to}
          AND (${connectionId}::bigint IS NULL OR connection_id = ${connectionId})
        GROUP BY 1, 2`,
  );
}

export type OpenSubmit = { carrierId: string; sender: string; destination: string; submittedAt: Date };

/**
 * The submits of one connection, of messages made since `firstId`, whose receipt was asked for and has not brought a
 * final state; the oldest first.
 */
export async function listOpenSubmits(
  db: Db,
  { connectionId, firstId, limit }: { connectionId: number; firstId: string; limit: number },
): Promise<OpenSubmit[]> {
  return many(
    db,
    sql`SELECT coalesce(p.carrier_id, s.carrier_id) AS "carrierId", m.sender, m.destination,
               s.submitted_at AS "submittedAt"
        FROM message_state s
        JOIN message m ON m.account_id = s.account_id AND m.id = s.id AND m.id >= ${firstId} AND m.want_receipt
        LEFT JOIN message_part p ON p.account_id = s.account_id AND p.message_id = s.id AND p.message_id >= ${firstId}
          AND s.carrier_id IS NULL
        WHERE s.connection_id = ${connectionId} AND s.id >= ${firstId} AND s.status IN (0, 1)
          AND s.submitted_at IS NOT NULL AND coalesce(p.status, s.status) IN (0, 1)
          AND coalesce(p.carrier_id, s.carrier_id) IS NOT NULL
        ORDER BY s.submitted_at LIMIT ${limit}`,
  );
}
