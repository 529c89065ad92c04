import { type Db, many, type Sql, sql } from '../db/query.ts';
import { bitOf, type Channel } from '../lib/channel.ts';

/** Which messages. */
export type HistoryFilter = {
  readonly accountId: number;
  readonly channel: Channel;
  /** Ids from the first up to before the second: a range of time. */
  readonly firstId: string;
  readonly endId: string;
  /** Codes of states; undefined: all. `queued`: those without a state too. */
  readonly status?: { readonly codes: readonly number[]; readonly queued: boolean } | undefined;
};

type Part = { readonly limit: number; readonly offset: number };

/**
 * Ids of messages, the newest first. They are read off the primary key in its order, day by day from the last one, until
 * there are enough: rows that are passed over cost a step of the index each, those with another status a look at them.
 */
export async function listHistoryIds(db: Db, { limit, offset, ...filter }: HistoryFilter & Part): Promise<string[]> {
  const rows = await many<{ id: string }>(
    db,
    sql`${matching(filter)} ORDER BY id DESC LIMIT ${limit} OFFSET ${offset}`,
  );
  return rows.map(({ id }) => id);
}

const within = ({ accountId, firstId, endId }: HistoryFilter, table: Sql): Sql =>
  sql`${table}.account_id = ${accountId} AND ${table}.id >= ${firstId} AND ${table}.id < ${endId}`;

function matching(filter: HistoryFilter): Sql {
  const { accountId, channel, status } = filter;
  const [m, s] = [sql`m`, sql`s`];
  if (status === undefined) return sql`SELECT id FROM message m WHERE ${within(filter, m)} AND channel = ${channel}`;
  const ofCodes = sql`s.status = ANY(${status.codes}::smallint[])`;
  // Of the narrow table alone.
  if (!status.queued)
    return sql`SELECT id FROM message_state s
      WHERE ${within(filter, s)} AND channel = ${bitOf(channel)}::smallint AND ${ofCodes}`;
  return sql`SELECT m.id FROM message m
    LEFT JOIN message_state s ON s.account_id = ${accountId} AND s.id = m.id AND ${within(filter, s)}
    WHERE ${within(filter, m)} AND m.channel = ${channel} AND (s.id IS NULL OR ${ofCodes})`;
}
