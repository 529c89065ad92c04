import { type Db, join, many, maybeOne, one, type Sql, sql } from '../../platform/db/query.ts';
import { bitOf, type Channel } from '../../platform/lib/channel.ts';

/** Selects messages of one channel in a time range. */
export type HistoryFilter = {
  readonly accountId: number;
  readonly channel: Channel;
  /** The first id of the time range. */
  readonly firstId: string;
  /** The end of the time range, exclusive. */
  readonly endId: string;
  /** Filter by status; undefined: all messages, whatever their state. */
  readonly status?: StatusFilter | undefined;
};

export type StatusFilter = {
  readonly codes: readonly number[];
  /** Inclusion of messages without a state: found through the queue or, when that is long, among the messages. */
  readonly queued: 'none' | 'in queue' | 'among messages';
};

type Part = { readonly limit: number; readonly offset: number };

/**
 * Lists ids of messages, newest first. For the days that are still written to, the primary key is read in its order
 * until there are enough ids: a skipped row costs one index step, and a row with another status must be read. For
 * a rare status, pages that do not hold it are skipped by their summaries (platform/db/summaries.ts), and past days
 * have an index (platform/db/past-day-indexes.ts).
 */
export async function listHistoryIds(db: Db, { limit, offset, ...filter }: HistoryFilter & Part): Promise<string[]> {
  const rows = await many<{ id: string }>(
    db,
    sql`${matching(filter, limit + offset)} ORDER BY id DESC LIMIT ${limit} OFFSET ${offset}`,
  );
  return rows.map(({ id }) => id);
}

type Range = Pick<HistoryFilter, 'accountId' | 'firstId' | 'endId'>;

const within = ({ accountId, firstId, endId }: Range, table: Sql): Sql =>
  sql`${table}.account_id = ${accountId} AND ${table}.id >= ${firstId} AND ${table}.id < ${endId}`;

function matching(filter: HistoryFilter, limit: number): Sql {
  const { status } = filter;
  if (status === undefined) return ofChannel(filter);
  const newest = (of: Sql): Sql => sql`(${of} ORDER BY id DESC LIMIT ${limit})`;
  // A separate query for each kind, so that each can be read in the order of an index.
  const kinds = status.codes.map((code) => withState(filter, code));
  if (status.queued === 'in queue') kinds.push(inQueue(filter));
  if (status.queued === 'among messages') kinds.push(withoutState(filter));
  return sql`SELECT id FROM (${join(kinds.map(newest), ' UNION ALL ')}) AS kind`;
}

const ofChannel = (filter: HistoryFilter): Sql =>
  sql`SELECT m.id FROM message m WHERE ${within(filter, sql`m`)} AND m.channel = ${filter.channel}`;

/** Reads only `message_state`, whose rows are narrow. */
const withState = (filter: HistoryFilter, code: number): Sql =>
  sql`SELECT s.id FROM message_state s
      WHERE ${within(filter, sql`s`)} AND s.channel = ${bitOf(filter.channel)}::smallint AND s.status = ${code}::smallint`;

const withoutState = (filter: HistoryFilter): Sql =>
  sql`SELECT m.id FROM message m
      LEFT JOIN message_state s ON s.account_id = ${filter.accountId} AND s.id = m.id AND ${within(filter, sql`s`)}
      WHERE ${within(filter, sql`m`)} AND m.channel = ${filter.channel} AND s.id IS NULL`;

/** Looks up each queued message (`OFFSET 0`): a join would read the whole range for the few messages that wait. */
const inQueue = (filter: HistoryFilter): Sql =>
  sql`SELECT q.id
      FROM (SELECT DISTINCT w.id FROM dispatch_chunk c CROSS JOIN unnest(c.ids) AS w (id)
            WHERE c.account_id = ${filter.accountId} AND w.id >= ${filter.firstId} AND w.id < ${filter.endId}) AS q
      CROSS JOIN LATERAL (
        SELECT channel FROM message m WHERE m.id = q.id AND ${within(filter, sql`m`)} OFFSET 0) AS m
      LEFT JOIN LATERAL (
        SELECT status FROM message_state s WHERE s.id = q.id AND ${within(filter, sql`s`)} OFFSET 0) AS s ON true
      WHERE m.channel = ${filter.channel} AND s.status IS NULL`;

/** Finds the id of the first message in a range, whatever its channel. */
export async function findFirstId(db: Db, filter: Range): Promise<string | undefined> {
  const row = await maybeOne<{ id: string }>(
    db,
    sql`SELECT m.id FROM message m WHERE ${within(filter, sql`m`)} ORDER BY m.id LIMIT 1`,
  );
  return row?.id;
}

/** Counts the messages of an account that wait in the queue. */
export async function countQueued(db: Db, { accountId }: { accountId: number }): Promise<number> {
  const { queued } = await one<{ queued: number }>(
    db,
    sql`SELECT coalesce(sum(size), 0)::int AS queued FROM dispatch_chunk WHERE account_id = ${accountId}`,
  );
  return queued;
}

/**
 * Counts the messages of a channel in each range between two neighbours in `bounds`, which is sorted. The lower bound
 * of a range is inclusive, the upper one exclusive.
 */
export async function countPerRange(
  db: Db,
  { accountId, channel, bounds }: { accountId: number; channel: Channel; bounds: readonly string[] },
): Promise<number[]> {
  const filter = { accountId, channel, firstId: bounds[0] ?? '', endId: bounds.at(-1) ?? '' };
  const rows = await many<{ nth: number; count: number }>(
    db,
    sql`SELECT width_bucket(id, ${[...bounds]}::uuid[]) AS nth, count(*) AS count
        FROM (${ofChannel(filter)}) AS m GROUP BY nth`,
  );
  const counts = bounds.slice(1).map(() => 0);
  for (const { nth, count } of rows) counts[nth - 1] = count;
  return counts;
}
