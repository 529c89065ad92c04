import { type Db, many, sql } from '../../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../../platform/db/select.ts';
import { OPEN_STATES } from '../../states.ts';

/** The time from `from` up to, but not including, `to`; `connectionId` null: every connection. */
export type Period = { readonly from: Date; readonly to: Date; readonly connectionId: number | null };

const HOUR_OF_SUBMITS = columns({
  connectionId: as<number>('connection_id'),
  hour: as<Date>("date_trunc('hour', submitted_at)"),
  final: as<number>('count(*) FILTER (WHERE final)'),
  open: as<number>('count(*) FILTER (WHERE NOT final)'),
  /** Submit time of the oldest open one; null when none is open. */
  oldestOpen: as<Date | null>('min(submitted_at) FILTER (WHERE NOT final)'),
});
/** The submits on one connection in one hour (UTC). */
export type HourOfSubmits = RowOf<typeof HOUR_OF_SUBMITS>;

/**
 * Counts the submits that carriers accepted under an id, by connection and hour of the submit (UTC). Each part of a
 * long message counts as one. A part is final as soon as its message is, even if another part or our own timer ended
 * that.
 */
export const countSubmitsByHour = (db: Db, { from, to, connectionId }: Period): Promise<HourOfSubmits[]> =>
  many(
    db,
    sql`WITH taken AS (
          SELECT account_id, id, connection_id, carrier_id, status NOT IN (${OPEN_STATES}) AS final, submitted_at
          FROM message_state
          WHERE submitted_at >= ${from} AND submitted_at < ${to}
            AND (${connectionId}::bigint IS NULL OR connection_id = ${connectionId})),
        submit AS (
          SELECT connection_id, submitted_at, final FROM taken WHERE carrier_id IS NOT NULL
          UNION ALL
          SELECT p.connection_id, t.submitted_at, t.final OR p.status NOT IN (${OPEN_STATES})
          FROM taken t JOIN message_part p ON p.account_id = t.account_id AND p.message_id = t.id)
        SELECT ${HOUR_OF_SUBMITS} FROM submit GROUP BY 1, 2`,
  );

const UNMATCHED_HOUR = columns({
  connectionId: as<number>('connection_id'),
  hour: as<Date>("date_trunc('hour', received_at)"),
  unmatched: as<number>("count(DISTINCT receipt -> 'carrierIds' ->> 0)"),
});

/** Counts parked receipts by connection and hour of arrival (UTC); repeats of one receipt count once. */
export const countUnmatchedByHour = (
  db: Db,
  { from, to, connectionId }: Period,
): Promise<RowOf<typeof UNMATCHED_HOUR>[]> =>
  many(
    db,
    sql`SELECT ${UNMATCHED_HOUR}
        FROM receipt_unmatched
        WHERE received_at >= ${from} AND received_at < ${to}
          AND (${connectionId}::bigint IS NULL OR connection_id = ${connectionId})
        GROUP BY 1, 2`,
  );

const OPEN_SUBMIT = columns({
  carrierId: as<string>('coalesce(p.carrier_id, s.carrier_id)'),
  sender: as<string>('m.sender'),
  destination: as<string>('m.destination'),
  submittedAt: as<Date>('s.submitted_at'),
});
/** A submit without a final receipt. */
export type OpenSubmit = RowOf<typeof OPEN_SUBMIT>;

/**
 * Lists the submits of one connection, of messages made since `firstId`, for which a receipt was requested and none has
 * brought a final state, oldest first.
 */
export const listOpenSubmits = (
  db: Db,
  { connectionId, firstId, limit }: { connectionId: number; firstId: string; limit: number },
): Promise<OpenSubmit[]> =>
  many(
    db,
    sql`SELECT ${OPEN_SUBMIT}
        FROM message_state s
        JOIN message m ON m.account_id = s.account_id AND m.id = s.id AND m.id >= ${firstId} AND m.want_receipt
        LEFT JOIN message_part p ON p.account_id = s.account_id AND p.message_id = s.id AND p.message_id >= ${firstId}
          AND s.carrier_id IS NULL
        WHERE s.connection_id = ${connectionId} AND s.id >= ${firstId} AND s.status IN (${OPEN_STATES})
          AND s.submitted_at IS NOT NULL AND coalesce(p.status, s.status) IN (${OPEN_STATES})
          AND coalesce(p.carrier_id, s.carrier_id) IS NOT NULL
        ORDER BY s.submitted_at LIMIT ${limit}`,
  );
