import { plainArray } from '../../../platform/db/array.ts';
import { bigint, endsOf, int, rowsOf, smallint, text, timestamptz, uuids } from '../../../platform/db/columns.ts';
import { type Db, exec, many, one, onePlan, raw, type Sql, sql, tuples } from '../../../platform/db/query.ts';
import type { Job } from '../run/sql.ts';
import { renderSql, valuesSql } from '../text/sql.ts';
import type { CustomField, Piece } from '../text/parse.ts';

/** Recipients of a country, in the order of their numbers. */
export type Lane = { country: string; fedTo: string };

/** The lanes of a campaign that have somebody left. */
export async function listOpenLanes(db: Db, { accountId, campaignId }: Job): Promise<Lane[]> {
  return many(
    db,
    sql`SELECT country, fed_to AS "fedTo" FROM campaign_lane
        WHERE account_id = ${accountId} AND campaign_id = ${campaignId} AND NOT done ORDER BY country`,
  );
}

/** Messages were made for all up to here. */
export async function updateLane(
  db: Db,
  { accountId, campaignId }: Job,
  { country, fedTo, done }: Lane & { done: boolean },
): Promise<void> {
  await exec(
    db,
    sql`UPDATE campaign_lane SET fed_to = ${fedTo}, done = ${done}
        WHERE account_id = ${accountId} AND campaign_id = ${campaignId} AND country = ${country}`,
  );
}

/** No messages are made any more for whoever has none. */
export async function moveLanesToDone(db: Db, { accountId, campaignId }: Job): Promise<void> {
  await exec(
    db,
    sql`WITH lanes AS (UPDATE campaign_lane SET done = true
                       WHERE account_id = ${accountId} AND campaign_id = ${campaignId} AND NOT done)
        UPDATE campaign_run SET expanded = true WHERE account_id = ${accountId} AND campaign_id = ${campaignId}`,
  );
}

/** What each recipient gets: the pieces of the text and the variables of the templates; null for channels not of the mode. */
export type Texts = {
  /** Whether the account has any: the look at each number is spared otherwise. */
  readonly hasOptOuts: boolean;
  readonly sms: readonly Piece[] | null;
  readonly rcs: readonly string[] | null;
  readonly whatsapp: readonly string[] | null;
  readonly customFields: readonly CustomField[];
};

/** Somebody for whom a message may be made. */
export type Candidate = [
  /** Its place in the source. */
  n: number,
  country: string,
  destination: string,
  contactId: number | null,
  /** Bits of the channels that may be tried, and those of them that nobody has opted out of since. */
  channels: number,
  willing: number,
  smsParts: number,
  reserveMicros: number,
  /** What goes out by SMS. */
  text: string | null,
  rcsValues: Record<string, string> | null,
  whatsappValues: Record<string, string> | null,
  /** The contact was deleted. */
  gone: boolean,
];

/** The next recipients of a lane, those left out to whom nothing is sent. */
export const nextRecipientsSql = ({ accountId, campaignId }: Job, lane: Lane, limit: number): Sql => sql`
  SELECT 0 AS n, q.* FROM (
    SELECT r.country, r.destination, r.contact_id, r.channels, r.sms_parts, r.reserve_micros FROM campaign_recipient r
    WHERE r.account_id = ${accountId} AND r.campaign_id = ${campaignId} AND r.country = ${lane.country}
      AND r.destination > ${lane.fedTo} AND r.skip_reason IS NULL
    ORDER BY r.destination LIMIT ${limit}) AS q`;

/**
 * Recipients by number, in some of their channels. Which country a number is of is found by trying all lanes. One by one:
 * while a campaign's recipients have no statistics, the planner thinks they are few and reads all of them instead.
 */
export const recipientsByNumberSql = (
  { accountId, campaignId }: Job,
  wanted: readonly { readonly destination: string; readonly channels: number }[],
): Sql => sql`
  SELECT u.n, r.country, r.destination, r.contact_id, r.channels & u.channels AS channels, r.sms_parts, r.reserve_micros
  FROM ${rowsOf(wanted, {
    destination: text((w) => w.destination),
    channels: smallint((w) => w.channels),
    n: int((_, i) => i),
  })} AS u
  CROSS JOIN (SELECT country FROM campaign_lane WHERE account_id = ${accountId} AND campaign_id = ${campaignId}) AS l
  CROSS JOIN LATERAL (
    SELECT * FROM campaign_recipient q WHERE q.account_id = ${accountId} AND q.campaign_id = ${campaignId}
      AND q.country = l.country AND q.destination = u.destination OFFSET 0) AS r`;

/** Bits of the channels that a number has opted out of. */
const optedOutChannelsSql = (accountId: number): Sql => sql`coalesce((
  SELECT bit_or(CASE o.channel WHEN 'SMS' THEN 1 WHEN 'RCS' THEN 2 ELSE 4 END) FROM opt_out o
  WHERE o.account_id = ${accountId} AND o.phone_number = r.destination COLLATE "default"), 0)`;

/**
 * Reads recipients (a SELECT as above) with what would be sent to them now, in the order of the source. Contacts are
 * looked up one by one: a hash of a million of them for the next thousand is no better plan, whatever it costs by the
 * statistics.
 */
export async function listCandidates(
  db: Db,
  { accountId, texts, source }: { accountId: number; texts: Texts; source: Sql },
): Promise<Candidate[]> {
  const on = { contact: sql`c`, destination: sql`r.destination` };
  const values = (entries: readonly string[] | null): Sql =>
    entries === null ? sql`NULL::jsonb` : valuesSql(entries, texts.customFields, on);
  return tuples(
    db,
    sql`SELECT x.n, x.country, x.destination, x.contact_id, x.channels, x.channels & ~x.refused, x.sms_parts,
               x.reserve_micros, x.body, x.rcs, x.whatsapp, x.gone
        FROM (
          SELECT r.*, ${texts.sms === null ? sql`NULL::text` : renderSql(texts.sms, on)} AS body,
                 ${values(texts.rcs)} AS rcs, ${values(texts.whatsapp)} AS whatsapp,
                 r.contact_id IS NOT NULL AND c.id IS NULL AS gone,
                 ${texts.hasOptOuts ? optedOutChannelsSql(accountId) : raw('0')} AS refused
          FROM (${source}) AS r
          LEFT JOIN LATERAL (
            SELECT * FROM contact p WHERE p.account_id = ${accountId} AND p.id = r.contact_id OFFSET 0) AS c ON true
          OFFSET 0) AS x
        ORDER BY x.n, x.country, x.destination`,
  );
}

/** Passes recipients of a country over for whom no message can be made any more. */
export async function moveRecipientsToSkipped(
  db: Db,
  { accountId, campaignId }: Job,
  { country, destinations, reason }: { country: string; destinations: readonly string[]; reason: string },
): Promise<void> {
  await exec(
    db,
    sql`UPDATE campaign_recipient SET skip_reason = ${reason}, channels = 0, reserve_micros = 0
        WHERE account_id = ${accountId} AND campaign_id = ${campaignId} AND country = ${country}
          AND destination = ANY(${plainArray(destinations)}::text[])`,
  );
}

/** How many parts a second connections take (null: as many as come), and how many messages of a campaign wait there. */
export async function listQueueDepths(
  db: Db,
  { campaignId }: { campaignId: number },
): Promise<{ connectionId: number; tps: number | null; waiting: number }[]> {
  return many(
    db,
    sql`SELECT c.id AS "connectionId", (c.settings ->> 'tps')::float8 AS tps, coalesce(q.waiting, 0)::bigint AS waiting
        FROM connection c
        LEFT JOIN (SELECT connection_id, sum(size - intent) AS waiting FROM dispatch_chunk
                   WHERE campaign_id = ${campaignId} GROUP BY connection_id) AS q ON q.connection_id = c.id`,
  );
}

/** The last batches of a campaign looked at for its rate: more than one second ever has, but for lanes by the hundred. */
const RECENT_BATCHES = raw('300');

/** How many recipients got their first message within the last second. */
export async function countRecentRecipients(db: Db, { accountId, campaignId }: Job): Promise<number> {
  const { count } = await one<{ count: number }>(
    db,
    sql`SELECT coalesce(sum(cardinality(message_ids)), 0)::bigint AS count
        FROM (SELECT message_ids, created_at, hop FROM campaign_batch
              WHERE account_id = ${accountId} AND campaign_id = ${campaignId} ORDER BY id DESC LIMIT ${RECENT_BATCHES}) AS b
        WHERE b.hop = 0 AND b.created_at > now() - interval '1 second'`,
  );
  return count;
}

export type NewBatch = {
  readonly hop: number;
  /** Its bit. */
  readonly channel: number;
  readonly country: string;
  readonly firstDestination: string;
  readonly lastDestination: string;
  readonly messageIds: readonly string[];
  /** When those who were not reached go on to another channel; null: there is none. */
  readonly dueAt: Date | null;
};

export async function insertBatches(
  db: Db,
  { accountId, campaignId }: Job,
  batches: readonly NewBatch[],
): Promise<void> {
  const lists = batches.map((batch) => batch.messageIds);
  const ends = endsOf(lists);
  await exec(
    db,
    onePlan(sql`INSERT INTO campaign_batch (account_id, campaign_id, hop, channel, country, first_destination,
                                            last_destination, message_ids, due_at)
        SELECT ${accountId}::bigint, ${campaignId}::bigint, u.hop, u.channel, u.country, u.first_destination,
               u.last_destination, (${uuids(lists)})[u.last - u.size + 1:u.last], u.due_at
        FROM ${rowsOf(batches, {
          hop: smallint((b) => b.hop),
          channel: smallint((b) => b.channel),
          country: text((b) => b.country),
          first_destination: text((b) => b.firstDestination),
          last_destination: text((b) => b.lastDestination),
          size: int((b) => b.messageIds.length),
          last: int((_, i) => ends[i] ?? 0),
          due_at: timestamptz((b) => b.dueAt),
          n: bigint((_, i) => i),
        })} AS u ORDER BY u.n`),
  );
}
