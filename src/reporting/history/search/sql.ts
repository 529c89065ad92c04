import { STATUS, type StatusName } from '../../../messaging/states.ts';
import { constant, type Db, join, many, maybeOne, type Sql, sql } from '../../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../../platform/db/select.ts';
import type { Channel } from '../../../platform/lib/channel.ts';

const ACCEPTED = constant(STATUS.ACCEPTED);

/** Filter for messages; omitted fields do not restrict. */
export type SearchFilter = {
  readonly accountId: number;
  /** The first id of the time range. */
  readonly firstId: string;
  /** The end of the time range, exclusive. */
  readonly endId: string;
  readonly channel?: Channel | undefined;
  readonly status?: StatusName | undefined;
  /** Consecutive digits of the number. */
  readonly digits?: string | undefined;
  readonly sender?: string | undefined;
  readonly campaignId?: number | undefined;
  readonly source?: string | undefined;
  /** The client's reference or, unless `digits` is null, digits of the number. */
  readonly term?: { readonly reference: string; readonly digits: string | null } | undefined;
};

/** Selects columns of the messages `m` of a range, newest first. */
const newestOf = ({ accountId, firstId, endId }: SearchFilter, selected: Sql): Sql => sql`
  SELECT ${selected} FROM message m
  WHERE m.account_id = ${accountId} AND m.id >= ${firstId} AND m.id < ${endId} ORDER BY m.id DESC`;

/**
 * Lists the ids of the messages that match, newest first, among the newest `scan` messages of the range. No index
 * serves these filters, because each index would make every message that is sent more expensive. 50,000 messages take
 * about 100 ms, as do 10,000 with their states.
 */
export async function listFoundIds(
  db: Db,
  { scan, limit, ...filter }: SearchFilter & { scan: number; limit: number },
): Promise<string[]> {
  const rows = await many<{ id: string }>(
    db,
    sql`SELECT m.id FROM (
          ${newestOf(filter, sql`m.id, m.channel, m.destination, m.sender, m.client_id, m.campaign_id, m.source`)}
          LIMIT ${scan}) AS m
        ${filter.status === undefined ? sql`` : joinState(filter)}
        WHERE ${join(conditions(filter), ' AND ')} ORDER BY m.id DESC LIMIT ${limit}`,
  );
  return rows.map(({ id }) => id);
}

/** Looks up one state per message: the states of the whole range are not read for the few messages at hand. */
const joinState = ({ accountId, firstId, endId }: SearchFilter): Sql => sql`
  LEFT JOIN LATERAL (
    SELECT status FROM message_state s
    WHERE s.account_id = ${accountId} AND s.id = m.id AND s.id >= ${firstId} AND s.id < ${endId} OFFSET 0) AS s ON true`;

function conditions({ channel, status, digits, sender, campaignId, source, term }: SearchFilter): Sql[] {
  return [
    sql`true`,
    ...(channel === undefined ? [] : [sql`m.channel = ${channel}`]),
    ...(status === undefined ? [] : [hasStatus(status)]),
    ...(digits === undefined ? [] : [hasDigits(digits)]),
    ...(sender === undefined ? [] : [sql`m.sender = ${sender}`]),
    ...(campaignId === undefined ? [] : [sql`m.campaign_id = ${campaignId}`]),
    ...(source === undefined ? [] : [sql`m.source = ${source}`]),
    ...(term === undefined ? [] : [hasTerm(term)]),
  ];
}

const hasDigits = (digits: string): Sql => sql`strpos(m.destination, ${digits}) > 0`;

const hasTerm = ({ reference, digits }: NonNullable<SearchFilter['term']>): Sql =>
  digits === null ? sql`m.client_id = ${reference}` : sql`(m.client_id = ${reference} OR ${hasDigits(digits)})`;

/**
 * The messages that clients see with this status (src/messaging/tracking/status.ts): a queued message is ACCEPTED on
 * SMS and UNKNOWN elsewhere.
 */
function hasStatus(status: StatusName): Sql {
  const code = constant(STATUS[status]);
  const open = sql`coalesce(s.status, ${ACCEPTED})`;
  if (status === 'ACCEPTED') return sql`m.channel = 'SMS' AND ${open} = ${code}`;
  if (status !== 'UNKNOWN') return sql`s.status = ${code}`;
  return sql`(s.status = ${code} OR m.channel <> 'SMS' AND ${open} = ${ACCEPTED})`;
}

/** Finds the id of the last among the newest `scan` messages of a range; undefined when there are fewer. */
export async function findScanEnd(
  db: Db,
  { scan, ...filter }: SearchFilter & { scan: number },
): Promise<string | undefined> {
  const row = await maybeOne<{ id: string }>(db, sql`${newestOf(filter, sql`m.id`)} LIMIT 1 OFFSET ${scan - 1}`);
  return row?.id;
}

const MESSAGE_TEXT = columns({
  id: as<string>('id'),
  source: as<'API' | 'CAMPAIGN' | 'INBOX'>('source'),
  simulation: as<boolean>('simulation'),
  body: as<string>('body'),
});
export type MessageText = RowOf<typeof MESSAGE_TEXT>;

/** Lists the texts and the sources of messages. */
export const listTexts = (
  db: Db,
  { accountId, ids }: { accountId: number; ids: readonly string[] },
): Promise<MessageText[]> =>
  many(db, sql`SELECT ${MESSAGE_TEXT} FROM message WHERE account_id = ${accountId} AND id = ANY(${[...ids]}::uuid[])`);
