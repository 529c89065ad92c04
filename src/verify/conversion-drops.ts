import { as, columns, type Db, many, raw, type RowOf, sql } from '../core/db/query.ts';
import { KNOWN_AFTER_MS, PLAIN } from './counters.ts';

/** Minimum of codes for a meaningful share. */
const MIN_RECENT = 30;
const MIN_BEFORE = 100;

const DROP = columns({
  subject: as<string>('a.name'),
  subjectId: as<number>('a.id'),
  /** Percentage of the codes of the last hour that were entered, and of those of four weeks before the last day. */
  count: as<number>('round(100.0 * q.entered / q.recent)::int'),
  compared: as<number>('round(100.0 * q.entered_before / q.before)::int'),
  /** The country. */
  detail: as<string>('q.key'),
});

/**
 * Lists up to 100 accounts whose users have entered a smaller share of the codes to a country in the last hour than usual,
 * by at least `points` percentage points, each with the country of the largest drop.
 */
export const listConversionDrops = (db: Db, { points }: { readonly points: number }): Promise<RowOf<typeof DROP>[]> => {
  const known = sql`now() - ${KNOWN_AFTER_MS} * interval '1 ms'`;
  const isRecent = sql`c.minutes = 1 AND c.at > ${known} - interval '1 hour' AND c.at <= ${known}`;
  const isBefore = sql`c.minutes = 60 AND c.at <= now() - interval '1 day'`;
  const sum = (column: string, when: typeof isRecent) => sql`coalesce(sum(c.${raw(column)}) FILTER (WHERE ${when}), 0)`;
  return many(
    db,
    sql`SELECT ${DROP}
        FROM (SELECT DISTINCT account_id AS id FROM verify_service) AS s
        JOIN account a ON a.id = s.id AND a.status = 'active'
        CROSS JOIN LATERAL (
          SELECT k.* FROM (
            SELECT c.key, ${sum('sent', isRecent)} AS recent, ${sum('approved', isRecent)} AS entered,
                   ${sum('sent', isBefore)} AS before, ${sum('approved', isBefore)} AS entered_before
            FROM verify_counter c
            WHERE c.account_id = a.id AND c.kind = 'country' AND NOT starts_with(c.key, ${PLAIN})
              AND c.at > now() - interval '28 days'
            GROUP BY c.key) AS k
          WHERE k.recent >= ${MIN_RECENT} AND k.before >= ${MIN_BEFORE}
            AND 100.0 * k.entered / k.recent <= 100.0 * k.entered_before / k.before - ${points}::float8
          ORDER BY 1.0 * k.entered / k.recent - 1.0 * k.entered_before / k.before, k.key LIMIT 1) AS q
        ORDER BY a.id LIMIT 100`,
  );
};
