import { listFields } from '../contacts/fields.ts';
import { bitOf, type Channel, type RichChannel } from '../core/channels.ts';
import {
  bigint,
  endsOf,
  input,
  insertRows,
  int,
  rowsOf,
  smallint,
  text,
  timestamptz,
  uuids,
} from '../core/db/columns.ts';
import {
  as,
  columns,
  constant,
  type Db,
  exec,
  join,
  many,
  one,
  onePlan,
  plainArray,
  type RowOf,
  raw,
  type Sql,
  sql,
  textArray,
} from '../core/db/query.ts';
import { OPT_OUT_MARK } from '../messages/opt-out-links.ts';
import { BULK_SHARE } from '../routing/messaging-limits.ts';
import { listTemplateVariables } from '../templates/store.ts';
import { chainOf } from './audience.ts';
import { isRefusedSql, loadRefusals, type Refusals } from './refusals.ts';
import type { Job, Step } from './run.ts';
import { type CustomField, type Piece, parseText, renderSql, valuesSql, withLink } from './texts.ts';

/** Loads the content that a campaign sends on each channel of its mode. */
export async function loadTexts({ tx, campaign }: Pick<Step, 'tx' | 'campaign'>): Promise<Texts> {
  const { accountId, sendingMode, hasOptOuts } = campaign;
  const chain = chainOf(sendingMode);
  const customFields = await listFields(tx, { accountId });
  // A template that was deleted needs no variables: its messages are rejected when they are sent.
  const variables = async (channel: RichChannel, templateId: string | null): Promise<string[] | null> =>
    chain.includes(channel)
      ? ((await listTemplateVariables(tx, { accountId, channel, templateId: templateId ?? '' })) ?? [])
      : null;
  return {
    refusals: hasOptOuts ? await loadRefusals(tx, { accountId, campaign }) : null,
    channels: chain,
    sms: chain.includes('SMS') ? withLink(parseText(campaign.smsBody ?? '', customFields).pieces, OPT_OUT_MARK) : null,
    rcs: await variables('RCS', campaign.rcsTemplateId),
    whatsapp: await variables('WHATSAPP', campaign.whatsappTemplateId),
    customFields,
  };
}

const LANE = columns({
  country: as<string>('country'),
  /** The area of the country (`findArea`), where hours depend on it; '' elsewhere. */
  area: as<string>('area'),
  /** First texts of its ranges of numbers; null: all of the country. */
  rangeFrom: as<string[] | null>('range_from'),
  rangeTo: as<string[] | null>('range_to'),
  /** The last number for which a message was created; '' when there is none yet. */
  fedTo: as<string>('fed_to'),
});

/** The recipients of one country, or of an area of it, whose messages are created in the order of their numbers. */
export type CountryProgress = RowOf<typeof LANE>;

/** Lists the lanes of a campaign that still have recipients without a message, in the order of their countries. */
export async function listOpenCountries(db: Db, { accountId, campaignId }: Job): Promise<CountryProgress[]> {
  return many(
    db,
    sql`SELECT ${LANE} FROM campaign_lane
        WHERE account_id = ${accountId} AND campaign_id = ${campaignId} AND NOT done ORDER BY country, area`,
  );
}

/** Records the number up to which the messages of a lane were created, and whether the lane is done. */
export async function updateCountryProgress(
  db: Db,
  { accountId, campaignId }: Job,
  { country, area, fedTo, done }: Pick<CountryProgress, 'country' | 'area' | 'fedTo'> & { done: boolean },
): Promise<void> {
  await exec(
    db,
    sql`UPDATE campaign_lane SET fed_to = ${fedTo}, done = ${done}
        WHERE account_id = ${accountId} AND campaign_id = ${campaignId} AND country = ${country} AND area = ${area}`,
  );
}

/** Returns the condition that a number lies in a lane. */
export const holds = (lane: Sql, number: Sql): Sql => sql`(${lane}.range_from IS NULL OR EXISTS (
  SELECT FROM unnest(${lane}.range_from, ${lane}.range_to) AS g (first, beyond)
  WHERE ${number} >= g.first AND ${number} < g.beyond))`;

/** Closes all lanes of a campaign: recipients who have no message yet get none. */
export async function moveCountriesToDone(db: Db, { accountId, campaignId }: Job): Promise<void> {
  await exec(
    db,
    sql`WITH lanes AS (UPDATE campaign_lane SET done = true
                       WHERE account_id = ${accountId} AND campaign_id = ${campaignId} AND NOT done)
        UPDATE campaign_run SET expanded = true WHERE account_id = ${accountId} AND campaign_id = ${campaignId}`,
  );
}

/**
 * Content for each recipient: the pieces of the text and the variables of the templates. Null for channels that are not
 * part of the mode.
 */
export type Texts = {
  /** Null if the account knows of no choices: looking up each number is skipped. */
  readonly refusals: Refusals | null;
  readonly channels: readonly Channel[];
  readonly sms: readonly Piece[] | null;
  readonly rcs: readonly string[] | null;
  readonly whatsapp: readonly string[] | null;
  readonly customFields: readonly CustomField[];
};

const CANDIDATE = columns({
  /** The position in the source, from 0. */
  place: as<number>('x.n'),
  country: as<string>('x.country'),
  destination: as<string>('x.destination'),
  contactId: as<number | null>('x.contact_id'),
  /** Bits of the channels that may be tried. */
  channels: as<number>('x.channels'),
  /** Bits of those `channels` from which the number has not opted out since. */
  willingChannels: as<number>('x.channels & ~x.refused'),
  smsParts: as<number>('x.sms_parts'),
  reserveMicros: as<number>('x.reserve_micros'),
  /** The text of the SMS; null when the mode has no SMS. */
  text: as<string | null>('x.body'),
  rcsValues: as<Record<string, string> | null>('x.rcs'),
  whatsappValues: as<Record<string, string> | null>('x.whatsapp'),
  contactDeleted: as<boolean>('x.gone'),
});

/** A recipient for whom a message may be created. */
export type Candidate = RowOf<typeof CANDIDATE>;

/** A SELECT of the next recipients of a lane, without those who were skipped. */
export function nextRecipientsSql({ accountId, campaignId }: Job, lane: CountryProgress, limit: number): Sql {
  const next = (within: Sql): Sql => sql`
    SELECT r.country, r.destination, r.contact_id, r.channels, r.sms_parts, r.reserve_micros FROM campaign_recipient r
    WHERE r.account_id = ${accountId} AND r.campaign_id = ${campaignId} AND r.country = ${lane.country}
      AND r.destination > ${lane.fedTo} ${within} AND r.skip_reason IS NULL
    ORDER BY r.destination LIMIT ${limit}`;
  if (lane.rangeFrom === null || lane.rangeTo === null) return sql`SELECT 0 AS n, q.* FROM (${next(sql``)}) AS q`;
  // Range by range, each by the key: an area has few of them.
  return sql`
    SELECT 0 AS n, q.* FROM (
      SELECT t.* FROM unnest(${textArray(lane.rangeFrom)}::text[], ${textArray(lane.rangeTo)}::text[]) AS g (first, beyond)
      CROSS JOIN LATERAL (${next(sql`AND r.destination >= g.first AND r.destination < g.beyond`)}) AS t
      ORDER BY t.destination LIMIT ${limit}) AS q`;
}

/**
 * A SELECT of recipients by their numbers, each limited to some channels. The country of a number is found by trying
 * all lanes. Recipients are looked up one by one: as long as there are no statistics of a campaign's recipients, the
 * planner assumes that they are few, and would read all of them.
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
  CROSS JOIN (SELECT DISTINCT country FROM campaign_lane WHERE account_id = ${accountId} AND campaign_id = ${campaignId}) AS l
  CROSS JOIN LATERAL (
    SELECT * FROM campaign_recipient q WHERE q.account_id = ${accountId} AND q.campaign_id = ${campaignId}
      AND q.country = l.country AND q.destination = u.destination OFFSET 0) AS r`;

/** An expression: the bits of the channels on which a number refuses the campaign. */
const refusedChannelsSql = ({ refusals, channels }: Texts): Sql =>
  refusals === null
    ? raw('0')
    : join(
        channels.map(
          (channel) => sql`CASE WHEN ${isRefusedSql(refusals, channel, sql`r.destination COLLATE "default"`)}
            THEN ${constant(bitOf(channel))} ELSE 0 END`,
        ),
        ' | ',
      );

/**
 * Lists the recipients of `source` (one of the SELECTs above) with what would be sent to them now, in the order of the
 * source. Contacts are looked up one by one: a hash of a million contacts for the next thousand recipients is slower,
 * whatever the statistics.
 */
export async function listCandidates(
  db: Db,
  { accountId, texts, source }: { accountId: number; texts: Texts; source: Sql },
): Promise<Candidate[]> {
  const on = { contact: sql`c`, destination: sql`r.destination` };
  const values = (entries: readonly string[] | null): Sql =>
    entries === null ? sql`NULL::jsonb` : valuesSql(entries, texts.customFields, on);
  return many(
    db,
    sql`SELECT ${CANDIDATE} FROM (
          SELECT r.*, ${texts.sms === null ? sql`NULL::text` : renderSql(texts.sms, on)} AS body,
                 ${values(texts.rcs)} AS rcs, ${values(texts.whatsapp)} AS whatsapp,
                 r.contact_id IS NOT NULL AND c.id IS NULL AS gone,
                 ${refusedChannelsSql(texts)} AS refused
          FROM (${source}) AS r
          LEFT JOIN LATERAL (
            SELECT * FROM contact p WHERE p.account_id = ${accountId} AND p.id = r.contact_id OFFSET 0) AS c ON true
          OFFSET 0) AS x
        ORDER BY x.n, x.country, x.destination`,
  );
}

/** Marks recipients of a country as skipped, because no message can be created for them any more. */
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

const QUEUE_DEPTH = columns({
  connectionId: as<number>('c.id'),
  /** The parts that the connection sends per second; null: no limit. */
  tps: as<number | null>("(c.settings ->> 'tps')::float8"),
  waiting: as<number>('coalesce(q.waiting, 0)::bigint'),
  /** The people whom the messaging limit of its portfolio leaves for now (WhatsApp); null: no limit. */
  peopleLeft: as<number | null>(sql`CASE WHEN l.people IS NOT NULL
    THEN floor(l.people * ${BULK_SHARE}::float8)::bigint - (
      SELECT count(*) FROM portfolio_person p WHERE p.portfolio = l.portfolio AND p.at > now() - interval '24 hours') END`),
});

/** Rate of a connection, and number of messages of a campaign that wait at it. */
export type QueueDepth = RowOf<typeof QUEUE_DEPTH>;

export async function listQueueDepths(db: Db, { campaignId }: { campaignId: number }): Promise<QueueDepth[]> {
  return many(
    db,
    sql`SELECT ${QUEUE_DEPTH} FROM connection c LEFT JOIN messaging_limit l ON l.connection_id = c.id
        LEFT JOIN (SELECT connection_id, sum(size - intent) AS waiting FROM dispatch_chunk
                   WHERE campaign_id = ${campaignId} GROUP BY connection_id) AS q ON q.connection_id = c.id`,
  );
}

/**
 * The last batches that count for a campaign's rate: more than one second ever has, unless there are hundreds of lanes.
 */
const RECENT_BATCHES = raw('300');

/** Counts the recipients whose first message was created within the last second. */
export async function countRecentRecipients(db: Db, { accountId, campaignId }: Job): Promise<number> {
  const { count } = await one<{ count: number }>(
    db,
    sql`SELECT coalesce(sum(cardinality(message_ids)), 0)::bigint AS count
        FROM (SELECT message_ids, created_at, fallback_number FROM campaign_batch
              WHERE account_id = ${accountId} AND campaign_id = ${campaignId} ORDER BY id DESC LIMIT ${RECENT_BATCHES}) AS b
        WHERE b.fallback_number = 0 AND b.created_at > now() - interval '1 second'`,
  );
  return count;
}

export type NewBatch = {
  /** The position of the channel in a recipient's attempts, from 0. */
  readonly fallbackNumber: number;
  readonly channel: number;
  readonly country: string;
  readonly firstDestination: string;
  readonly lastDestination: string;
  readonly messageIds: readonly string[];
  /** Earliest end of the time of its messages on their channel; null: there is no other channel. */
  readonly dueAt: Date | null;
};

/** Records the created messages, in batches of one channel and country. The batches keep their order. */
export async function insertBatches(
  db: Db,
  { accountId, campaignId }: Job,
  batches: readonly NewBatch[],
): Promise<void> {
  const lists = batches.map((batch) => batch.messageIds);
  const ends = endsOf(lists);
  const rows = batches.map((batch, n) => ({ ...batch, size: batch.messageIds.length, last: ends[n] ?? 0, n }));
  const inserted = insertRows(
    'campaign_batch',
    rows,
    {
      fallbackNumber: smallint,
      channel: smallint,
      country: text,
      firstDestination: text,
      lastDestination: text,
      messageIds: null,
      dueAt: timestamptz,
      size: input(int),
      last: input(int),
      n: input(bigint),
    },
    {
      account_id: sql`${accountId}::bigint`,
      campaign_id: sql`${campaignId}::bigint`,
      message_ids: sql`(${uuids(lists)})[u.last - u.size + 1:u.last]`,
    },
  );
  await exec(db, onePlan(sql`${inserted} ORDER BY u.n`));
}
