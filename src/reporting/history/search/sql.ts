import { type Db, join, many, maybeOne, raw, type Sql, sql } from '../../../platform/db/query.ts';
import type { Channel } from '../../../platform/lib/channel.ts';
import { STATUS, type StatusName } from '../../../messaging/states.ts';

export type SearchFilter = {
  readonly accountId: number;
  /** Ids from the first up to before the second: a range of time. */
  readonly firstId: string;
  readonly endId: string;
  readonly channel?: Channel | undefined;
  readonly status?: StatusName | undefined;
  /** Digits that stand together in the number. */
  readonly digits?: string | undefined;
  readonly sender?: string | undefined;
  readonly campaignId?: number | undefined;
  readonly source?: string | undefined;
  /** The client's reference, or, where there are any, digits of the number. */
  readonly word?: { readonly reference: string; readonly digits: string | null } | undefined;
};

/** A column of `m`; the newest `scan` messages of a range. */
const scanned = ({ accountId, firstId, endId }: SearchFilter, columns: Sql): Sql => sql`
  SELECT ${columns} FROM message m
  WHERE m.account_id = ${accountId} AND m.id >= ${firstId} AND m.id < ${endId} ORDER BY m.id DESC`;

/**
 * Ids of messages that fit, the newest first, of the newest `scan` of the range: no index serves these filters, since
 * each would cost every message that is sent. 50,000 are looked through in about 100 ms, 10,000 with their states.
 */
export async function listFoundIds(
  db: Db,
  { scan, limit, ...filter }: SearchFilter & { scan: number; limit: number },
): Promise<string[]> {
  const rows = await many<{ id: string }>(
    db,
    sql`SELECT m.id FROM (
          ${scanned(filter, sql`m.id, m.channel, m.destination, m.sender, m.client_id, m.campaign_id, m.source`)}
          LIMIT ${scan}) AS m
        ${filter.status === undefined ? sql`` : stateOf(filter)}
        WHERE ${join(conditions(filter), ' AND ')} ORDER BY m.id DESC LIMIT ${limit}`,
  );
  return rows.map(({ id }) => id);
}

/** One by one: the states of a whole range are not read for the few messages that are looked at. */
const stateOf = ({ accountId, firstId, endId }: SearchFilter): Sql => sql`
  LEFT JOIN LATERAL (
    SELECT status FROM message_state s
    WHERE s.account_id = ${accountId} AND s.id = m.id AND s.id >= ${firstId} AND s.id < ${endId} OFFSET 0) AS s ON true`;

function conditions({ channel, status, digits, sender, campaignId, source, word }: SearchFilter): Sql[] {
  return [
    sql`true`,
    ...(channel === undefined ? [] : [sql`m.channel = ${channel}`]),
    ...(status === undefined ? [] : [hasStatus(status)]),
    ...(digits === undefined ? [] : [hasDigits(digits)]),
    ...(sender === undefined ? [] : [sql`m.sender = ${sender}`]),
    ...(campaignId === undefined ? [] : [sql`m.campaign_id = ${campaignId}`]),
    ...(source === undefined ? [] : [sql`m.source = ${source}`]),
    ...(word === undefined ? [] : [hasWord(word)]),
  ];
}

const hasDigits = (digits: string): Sql => sql`strpos(m.destination, ${digits}) > 0`;

const hasWord = ({ reference, digits }: NonNullable<SearchFilter['word']>): Sql =>
  digits === null ? sql`m.client_id = ${reference}` : sql`(m.client_id = ${reference} OR ${hasDigits(digits)})`;

/** What reads as this status (src/messaging/tracking/status.ts): what is queued is ACCEPTED on SMS and UNKNOWN elsewhere. */
function hasStatus(status: StatusName): Sql {
  const code = raw(String(STATUS[status]));
  const open = sql`coalesce(s.status, ${raw(String(STATUS.ACCEPTED))})`;
  if (status === 'ACCEPTED') return sql`m.channel = 'SMS' AND ${open} = ${code}`;
  if (status !== 'UNKNOWN') return sql`s.status = ${code}`;
  return sql`(s.status = ${code} OR m.channel <> 'SMS' AND ${open} = ${raw(String(STATUS.ACCEPTED))})`;
}

/** The last of the newest `scan` messages of a range; undefined when there are fewer. */
export async function findScanEnd(
  db: Db,
  { scan, ...filter }: SearchFilter & { scan: number },
): Promise<string | undefined> {
  const row = await maybeOne<{ id: string }>(db, sql`${scanned(filter, sql`m.id`)} LIMIT 1 OFFSET ${scan - 1}`);
  return row?.id;
}

export type MessageText = { id: string; source: 'API' | 'CAMPAIGN' | 'INBOX'; simulation: boolean; body: string };

/** What messages say and where they come from. */
export const listTexts = (
  db: Db,
  { accountId, ids }: { accountId: number; ids: readonly string[] },
): Promise<MessageText[]> =>
  many(
    db,
    sql`SELECT id, source, simulation, body FROM message WHERE account_id = ${accountId} AND id = ANY(${[...ids]}::uuid[])`,
  );
