import { type Db, many, one, type Sql, sql } from '../../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../../platform/db/select.ts';

/** Groupings of margins. */
export const GROUPINGS = ['account', 'country', 'connection'] as const;
export type Grouping = (typeof GROUPINGS)[number];

const SUMS = columns({
  messages: as<number>('coalesce(sum(d.messages), 0)::bigint'),
  units: as<number>('coalesce(sum(d.units), 0)::bigint'),
  uncosted: as<number>('coalesce(sum(d.uncosted), 0)::bigint'),
  earnedMicros: as<number>('coalesce(sum(d.earned_micros), 0)::bigint'),
  costMicros: as<number>('coalesce(sum(d.cost_micros), 0)::bigint'),
});
export type Margin = RowOf<typeof SUMS>;

const NAMED: Readonly<Record<Grouping, { name: Sql; from: Sql }>> = {
  account: { name: sql`a.name`, from: sql`JOIN account a ON a.id = d.account_id` },
  country: { name: sql`d.country`, from: sql`` },
  connection: { name: sql`c.name`, from: sql`LEFT JOIN connection c ON c.id = d.connection_id` },
};

type Range = { readonly from: Date; readonly to: Date };

const within = ({ from, to }: Range): Sql => sql`WHERE d.day >= ${from} AND d.day < ${to}`;

/**
 * Lists the margins of the days in [from, to), the smallest first. `name` is that of the account or of the connection (null
 * if that was removed), or the calling code of the country.
 */
export async function listMargins(
  db: Db,
  { by, limit, ...range }: Range & { readonly by: Grouping; readonly limit: number },
): Promise<(Margin & { name: string | null })[]> {
  const { name, from } = NAMED[by];
  const named = columns({ name: as<string | null>(name) });
  return many(
    db,
    sql`SELECT ${named}, ${SUMS} FROM margin_day d ${from} ${within(range)}
        GROUP BY 1 ORDER BY sum(d.earned_micros) - sum(d.cost_micros), 1 LIMIT ${limit}`,
  );
}

/** Finds the margin of all messages of the days in [from, to). */
export async function findMargin(db: Db, range: Range): Promise<Margin> {
  return one(db, sql`SELECT ${SUMS} FROM margin_day d ${within(range)}`);
}
