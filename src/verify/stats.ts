import { as, columns, constant, type Db, many, type RowOf, type Sql, sql, timeOf } from '../core/db/query.ts';
import { firstIdAt } from '../core/ids.ts';

/** The last digits that the ranges of the figures leave open: 10,000 numbers each. */
const RANGE_DIGITS = constant(4);
const rangeSql = (number: Sql): Sql => sql`left(${number}, greatest(2, length(${number}) - ${RANGE_DIGITS}))`;

/** Groupings of figures, as expressions over verifications `v` and over decisions `d` of the guard. */
export const GROUPS = {
  country: [sql`v.country`, sql`d.country`],
  network: [sql`v.network`, sql`NULL::text`],
  range: [rangeSql(sql`v.number`), rangeSql(sql`d.number`)],
  channel: [sql`v.channel`, sql`NULL::text`],
  hour: [
    sql`to_char(v.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24":00Z"')`,
    sql`to_char(${timeOf(sql`d.id`)} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24":00Z"')`,
  ],
} as const;

const ROW = columns({
  key: as<string | null>('coalesce(v.key, d.key)'),
  started: as<number>('coalesce(v.started, 0)::bigint'),
  sends: as<number>('coalesce(v.sends, 0)::bigint'),
  delivered: as<number>('coalesce(v.delivered, 0)::bigint'),
  approved: as<number>('coalesce(v.approved, 0)::bigint'),
  medianSeconds: as<number | null>('v.seconds::float8'),
  micros: as<number>('coalesce(v.micros, 0)::bigint'),
  stopped: as<number>('coalesce(d.stopped, 0)::bigint'),
  stoppedMicros: as<number>('coalesce(d.micros, 0)::bigint'),
});
export type StatsRow = RowOf<typeof ROW>;

type Asked = {
  readonly accountId: number;
  readonly by: keyof typeof GROUPS;
  readonly serviceId: string | null;
  readonly from: Date;
  readonly to: Date;
};

/** Sums the verifications of a span with the prices of their messages, and what the guard has stopped. */
export function listStats(db: Db, { accountId, by, serviceId, from, to }: Asked): Promise<StatsRow[]> {
  const [ofVerification, ofDecision] = GROUPS[by];
  const [first, last] = [firstIdAt(from), firstIdAt(to)];
  return many(
    db,
    sql`WITH v AS (
          SELECT ${ofVerification} AS key, count(*) AS started, sum(v.sends) AS sends,
                 count(*) FILTER (WHERE v.delivery = 'DELIVERED') AS delivered,
                 count(*) FILTER (WHERE v.status = 'APPROVED' OR v.feedback = 'converted') AS approved,
                 percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM v.ended_at - v.created_at))
                   FILTER (WHERE v.status = 'APPROVED') AS seconds,
                 sum(p.micros) AS micros
          FROM verification v
          LEFT JOIN LATERAL (
            SELECT sum(m.price_micros) AS micros FROM verification_message c
            JOIN message m ON m.account_id = c.account_id AND m.id = c.message_id AND m.id >= ${first}
            WHERE c.account_id = v.account_id AND c.verification_id = v.id) AS p ON true
          WHERE v.account_id = ${accountId} AND v.id >= ${first} AND v.id < ${last} AND NOT v.hidden
            AND (${serviceId}::uuid IS NULL OR v.service_id = ${serviceId})
          GROUP BY 1),
        d AS (
          SELECT ${ofDecision} AS key, count(*) AS stopped, sum(d.micros) AS micros
          FROM verify_decision d
          WHERE d.account_id = ${accountId} AND d.id >= ${first} AND d.id < ${last} AND d.enforced
            AND d.outcome <> 'ALLOW' AND (${serviceId}::uuid IS NULL OR d.service_id = ${serviceId})
          GROUP BY 1)
        SELECT ${ROW} FROM v FULL JOIN d ON coalesce(v.key, '') = coalesce(d.key, '')
        ORDER BY ${by === 'range' ? sql`coalesce(d.micros, 0) DESC,` : sql``} coalesce(v.started, 0) DESC, 1 LIMIT 1000`,
  );
}
