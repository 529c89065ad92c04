import { type Static, Type } from 'typebox';
import type { TrafficType } from '../channels/carrier.ts';
import type { GivenTlv } from '../channels/message-tlvs.ts';
import type { Purpose } from '../core/channels.ts';
import {
  as,
  columns,
  constant,
  containsPattern,
  type Db,
  exec,
  join,
  many,
  maybeOne,
  one,
  plainArray,
  type RowOf,
  raw,
  type Sql,
  sql,
  textArray,
} from '../core/db/query.ts';
import { invalidFields } from '../core/errors.ts';
import { DAY_MS } from '../core/time.ts';
import type { Place, QuietHours } from '../messages/calendar.ts';
import { CAMPAIGNS_CHANNEL } from '../messages/events.ts';
import type { Encoding } from '../messages/smart-encoding.ts';
import { type AudienceCount, SENDING_MODES, type SendingMode } from './audience.ts';
import type { LocalTime } from './hours.ts';

/** The specification's campaign statuses. */
export const CAMPAIGN = { DRAFT: 0, READY: 1, SENDING: 2, COMPLETED: 3, FAILED: 4 } as const;
export type CampaignStatus = (typeof CAMPAIGN)[keyof typeof CAMPAIGN];

const { DRAFT, READY, SENDING, COMPLETED, FAILED } = CAMPAIGN;
const OPEN = [DRAFT, READY] as const;

/** Statuses, for SQL, of campaigns that wait for their time or are being sent, as `status IN (${UNFINISHED})`. */
export const UNFINISHED = join([READY, SENDING].map(constant), ', ');

/**
 * The moves of a campaign, with the statuses before and after each. The WHERE clauses of the statements in the store
 * files take their statuses from here (`statusAllows`), and docs/message-states.md shows the same table (states.test.ts
 * compares them). `confirmed`: true if the campaign must have been confirmed, false if it must not; if it is omitted,
 * both are allowed.
 */
export const MOVES = {
  edit: { from: OPEN, to: OPEN, confirmed: false },
  reschedule: { from: [READY], to: [READY], confirmed: true },
  unconfirm: { from: [READY], to: OPEN, confirmed: true },
  schedule: { from: [READY], to: [READY], confirmed: false },
  send: { from: [READY], to: [SENDING], confirmed: false },
  start: { from: [READY], to: [SENDING], confirmed: true },
  pause: { from: [SENDING], to: [SENDING] },
  resume: { from: [READY, SENDING], to: [READY, SENDING], confirmed: true },
  cancel: { from: [SENDING], to: [SENDING] },
  complete: { from: [SENDING], to: [COMPLETED] },
  fail: { from: [SENDING], to: [FAILED] },
  delete: { from: OPEN, to: [] },
} as const satisfies Readonly<Record<string, Move>>;

type Move = {
  readonly from: readonly CampaignStatus[];
  readonly to: readonly CampaignStatus[];
  readonly confirmed?: boolean;
};

type Of = { readonly accountId: number };
type One = Of & { readonly id: number };

/**
 * Conditions for trying the next channel of a combined mode: the maximum number of seconds with a carrier and without
 * one, and the final statuses.
 */
export type Fallback = {
  readonly after?: { readonly WHATSAPP?: number; readonly RCS?: number };
  readonly maxWait?: number;
  readonly onStatus?: string[];
};

/** The valid destinations, each once and sorted, with the data of their numbering plans. */
export type Numbers = {
  readonly numbers: readonly string[];
  readonly countries: readonly string[];
  readonly channels: readonly number[];
  /** Number of destinations that are not a valid number. */
  readonly unreadable: number;
};

const SETTINGS = {
  name: as<string>('k.name'),
  description: as<string>('k.description'),
  sendingMode: as<SendingMode>('k.sending_mode'),
  smsSender: as<string | null>('k.sms_sender'),
  smsBody: as<string | null>('k.sms_body'),
  rcsAgentId: as<string | null>('k.rcs_agent_id'),
  rcsTemplateId: as<string | null>('k.rcs_template_id'),
  rcsTrafficType: as<TrafficType | null>('k.rcs_traffic_type'),
  whatsappPhoneNumberId: as<string | null>('k.whatsapp_phone_number_id'),
  whatsappTemplateId: as<string | null>('k.whatsapp_template_id'),
  /** 1 contact lists, 2 destinations, null neither yet. */
  destinationType: as<1 | 2 | null>('k.destination_type'),
  contactListIds: as<number[]>('k.contact_list_ids'),
  scheduledAt: as<Date | null>('k.scheduled_at'),
  readyToSend: as<boolean>('k.ready_to_send'),
  fallback: as<Fallback>('k.fallback'),
  quietHours: as<QuietHours | null>('k.quiet_hours'),
  /** Null: that of its WhatsApp template, of the traffic type on RCS, or of the account. */
  purpose: as<Purpose | null>('k.purpose'),
  /** Null: if its purpose is marketing. */
  respectCalendar: as<boolean | null>('k.respect_calendar'),
  localTime: as<LocalTime | null>('k.local_time'),
  /** Null: that of the account. */
  weeklyCap: as<number | null>('k.weekly_cap'),
  /** Null: auto. */
  encoding: as<Encoding | null>('k.encoding'),
  tlvs: as<GivenTlv[] | null>('k.tlvs'),
  /** The maximum number of recipients per second; null: no limit. */
  rate: as<number | null>('k.rate'),
};

/** The traffic type of the messages of a campaign on RCS: its own, or that of its template; null if it sends none there. */
export const trafficTypeSql = (campaign: 'c' | 'k'): string => `CASE WHEN ${campaign}.sending_mode LIKE '%RCS%' THEN
  coalesce(${campaign}.rcs_traffic_type,
    (SELECT t.traffic_type FROM template t WHERE t.channel = 'RCS' AND t.id = ${campaign}.rcs_template_id)) END`;

const AUDIENCE_IS_FRESH = sql`(k.audience_version IS NOT DISTINCT FROM k.version AND k.audience_list_versions IS NOT DISTINCT FROM ARRAY(
  SELECT l.version FROM unnest(k.contact_list_ids) WITH ORDINALITY AS u (id, place)
  JOIN contact_list l ON l.account_id = k.account_id AND l.id = u.id ORDER BY u.place))`;

const RUN = `(SELECT jsonb_build_object('expanded', r.expanded, 'recipients', r.recipients, 'skipped', r.skipped, 'ended', r.ended,
            'delivered', r.delivered, 'deliveredTwice', r.delivered_twice, 'unmade', r.unmade, 'withdrawn', r.withdrawn,
            'messages', r.messages, 'produced', r.expanded AND NOT EXISTS (
              SELECT FROM campaign_lane l WHERE l.account_id = k.account_id AND l.campaign_id = k.id AND NOT l.done),
            'open', (SELECT jsonb_agg(jsonb_build_object('country', l.country, 'area', l.area)) FROM campaign_lane l
                     WHERE l.account_id = k.account_id AND l.campaign_id = k.id AND NOT l.done))
   FROM campaign_run r WHERE r.account_id = k.account_id AND r.campaign_id = k.id)`;

type RunCounters = {
  readonly expanded: boolean;
  readonly recipients: number;
  readonly skipped: number;
  readonly ended: number;
  readonly delivered: number;
  readonly deliveredTwice: number;
  /** Recipients without a message because of the cancellation. */
  readonly unmade: number;
  /** Recipients whose message the cancellation withdrew. */
  readonly withdrawn: number;
  /** The messages so far, including those on later channels. */
  readonly messages: number;
  /** True if all recipients have their first message, or get none. */
  readonly produced: boolean;
  /** The places with recipients who have no message yet. */
  readonly open: readonly Place[] | null;
};

/** The columns of a campaign in a list, to be selected from `CAMPAIGN_SOURCE`. */
export const CAMPAIGN_ENTRY = columns({
  ...SETTINGS,
  id: as<number>('k.id'),
  status: as<CampaignStatus>('k.status'),
  version: as<number>('k.version'),
  /** Number of destinations that are not a valid number. */
  unreadable: as<number>('k.unreadable_numbers'),
  audience: as<Omit<AudienceCount, 'prices' | 'whatsappCategory'> | null>(
    "k.audience - '{prices,whatsappCategory}'::text[]",
  ),
  audienceAt: as<Date | null>('k.audience_at'),
  /** True if the audience counted what would be sent now: neither the campaign nor its lists have changed since. */
  audienceFresh: as<boolean>(AUDIENCE_IS_FRESH),
  totalDestinations: as<number>('k.total_destinations'),
  estimatedMicros: as<number>('k.estimated_micros'),
  reservedMicros: as<number>('k.reserved_micros'),
  currency: as<string>('b.currency'),
  /** The category of its WhatsApp template when the audience was calculated. */
  whatsappCategory: as<string | null>("k.audience ->> 'whatsappCategory'"),
  trafficType: as<TrafficType | null>(trafficTypeSql('k')),
  effectiveQuietHours: as<QuietHours | null>('coalesce(k.quiet_hours, p.quiet_hours)'),
  accountPurpose: as<Purpose | null>('a.default_purpose'),
  accountRespectsCalendar: as<boolean>('a.respects_calendar'),
  /** The clock of the database. */
  now: as<Date>('now()'),
  /** The credit that the account can spend; null: it pays afterwards. */
  availableMicros: as<number | null>('CASE WHEN b.unlimited THEN NULL ELSE b.available_micros END'),
  failureReason: as<string | null>('k.failure_reason'),
  createdAt: as<Date>('k.created_at'),
  updatedAt: as<Date>('k.updated_at'),
  confirmedAt: as<Date | null>('k.confirmed_at'),
  startedAt: as<Date | null>('k.started_at'),
  pausedAt: as<Date | null>('k.paused_at'),
  cancelledAt: as<Date | null>('k.cancelled_at'),
  completedAt: as<Date | null>('k.completed_at'),
  /** Time at which its last messages were created; null when there are none. */
  lastMessagesAt: as<Date | null>(`(SELECT b.created_at FROM campaign_batch b
    WHERE b.account_id = k.account_id AND b.campaign_id = k.id ORDER BY b.id DESC LIMIT 1)`),
  /** The counters of its run; null before the confirmation. */
  run: as<RunCounters | null>(RUN),
  delivered: as<number>('t.delivered'),
  /** Messages that failed, as the hourly figures count them. */
  failed: as<number>('t.failed'),
  /** Messages that were given to carriers, or ended before that. */
  handled: as<number>('t.handled'),
  costMicros: as<number>('t.cost'),
});

const DESTINATIONS = columns({ destinations: as<string[]>('k.destinations') });

/** A campaign in a list: its destinations, up to 100,000 numbers, are omitted. */
export type CampaignEntry = RowOf<typeof CAMPAIGN_ENTRY>;

export type CampaignRow = CampaignEntry & RowOf<typeof DESTINATIONS>;

/** The fields of a campaign that people set. */
export type Settings = Pick<CampaignRow, keyof typeof SETTINGS | 'destinations'>;

const TRAFFIC = sql`CROSS JOIN LATERAL (
  SELECT coalesce(sum(h.delivered), 0)::bigint AS delivered, coalesce(sum(h.failed), 0)::bigint AS failed,
         coalesce(sum(h.sent + h.unsent), 0)::bigint AS handled,
         coalesce(sum(h.cost_micros), 0)::bigint AS cost
  FROM traffic_hour h WHERE h.account_id = k.account_id AND h.campaign_id = k.id AND h.campaign_id <> 0) AS t`;

/** The FROM clause of `CAMPAIGN_ENTRY`: the campaign is `k`; the caller adds the WHERE clause and the order. */
export const CAMPAIGN_SOURCE: Sql = sql`FROM campaign k JOIN credit_balance b ON b.account_id = k.account_id
  JOIN account a ON a.id = k.account_id LEFT JOIN campaign_policy p ON p.account_id = k.account_id ${TRAFFIC}`;

export const findCampaign = (db: Db, { accountId, id }: One): Promise<CampaignRow | undefined> =>
  maybeOne(
    db,
    sql`SELECT ${CAMPAIGN_ENTRY}, ${DESTINATIONS} ${CAMPAIGN_SOURCE} WHERE k.account_id = ${accountId} AND k.id = ${id}`,
  );

/**
 * Finds a campaign and locks it until the transaction ends. To avoid deadlocks, call it before other rows of the
 * campaign are locked.
 */
export async function claimCampaign(db: Db, { accountId, id }: One): Promise<CampaignRow | undefined> {
  const locked = await exec(
    db,
    sql`SELECT FROM campaign WHERE account_id = ${accountId} AND id = ${id} FOR NO KEY UPDATE`,
  );
  return locked === 0 ? undefined : findCampaign(db, { accountId, id });
}

export const insertCampaign = (
  db: Db,
  { accountId, settings: s, numbers: n }: Of & { settings: Settings; numbers: Numbers },
): Promise<{ id: number }> =>
  one(
    db,
    sql`INSERT INTO campaign (account_id, status, name, description, sending_mode, sms_sender, sms_body, rcs_agent_id,
          rcs_template_id, rcs_traffic_type, whatsapp_phone_number_id, whatsapp_template_id, destination_type, contact_list_ids,
          destinations, numbers, number_countries, number_channels, unreadable_numbers, scheduled_at, ready_to_send, fallback, quiet_hours,
          rate, purpose, respect_calendar, local_time, weekly_cap, encoding, tlvs)
        VALUES (${accountId}, ${editableStatus(s)}, ${s.name}, ${s.description}, ${s.sendingMode}, ${s.smsSender},
          ${s.smsBody}, ${s.rcsAgentId}, ${s.rcsTemplateId}, ${s.rcsTrafficType}, ${s.whatsappPhoneNumberId}, ${s.whatsappTemplateId},
          ${s.destinationType}, ${plainArray(s.contactListIds)}::bigint[], ${textArray(s.destinations)}::text[],
          ${plainArray(n.numbers)}::text[], ${textArray(n.countries)}::text[], ${plainArray(n.channels)}::smallint[],
          ${n.unreadable}, ${s.scheduledAt}, ${s.readyToSend}, ${JSON.stringify(s.fallback)}::jsonb, ${jsonOrNull(s.quietHours)}::jsonb,
          ${s.rate}, ${s.purpose}, ${s.respectCalendar}, ${jsonOrNull(s.localTime)}::jsonb, ${s.weeklyCap}, ${s.encoding},
          ${jsonOrNull(s.tlvs)}::jsonb)
        RETURNING id`,
  );

const editableStatus = ({ readyToSend }: Settings): CampaignStatus => (readyToSend ? CAMPAIGN.READY : CAMPAIGN.DRAFT);

const jsonOrNull = (value: object | null): string | null => (value === null ? null : JSON.stringify(value));

/**
 * Writes the settings of a campaign that has not started. `changesAudience`: its audience must be calculated again.
 * `confirmed`: true if it is confirmed; with another date it is then due at that. Returns 0 when it cannot be edited
 * any more.
 */
export const updateSettings = (
  db: Db,
  {
    accountId,
    id,
    settings: s,
    numbers: n,
    changesAudience,
    confirmed,
  }: One & { settings: Settings; numbers: Numbers; changesAudience: boolean; confirmed: boolean },
): Promise<number> =>
  exec(
    db,
    sql`UPDATE campaign SET status = ${editableStatus(s)}, name = ${s.name}, description = ${s.description},
          sending_mode = ${s.sendingMode}, sms_sender = ${s.smsSender}, sms_body = ${s.smsBody},
          rcs_agent_id = ${s.rcsAgentId}, rcs_template_id = ${s.rcsTemplateId}, rcs_traffic_type = ${s.rcsTrafficType},
          whatsapp_phone_number_id = ${s.whatsappPhoneNumberId}, whatsapp_template_id = ${s.whatsappTemplateId},
          destination_type = ${s.destinationType}, contact_list_ids = ${plainArray(s.contactListIds)}::bigint[],
          destinations = ${textArray(s.destinations)}::text[], numbers = ${plainArray(n.numbers)}::text[],
          number_countries = ${textArray(n.countries)}::text[],
          number_channels = ${plainArray(n.channels)}::smallint[], unreadable_numbers = ${n.unreadable},
          scheduled_at = ${s.scheduledAt},
          ready_to_send = ${s.readyToSend}, fallback = ${JSON.stringify(s.fallback)}::jsonb,
          quiet_hours = ${jsonOrNull(s.quietHours)}::jsonb, rate = ${s.rate}, purpose = ${s.purpose},
          respect_calendar = ${s.respectCalendar}, local_time = ${jsonOrNull(s.localTime)}::jsonb,
          weekly_cap = ${s.weeklyCap}, encoding = ${s.encoding}, tlvs = ${jsonOrNull(s.tlvs)}::jsonb, version = version + ${changesAudience ? 1 : 0},
          paused_at = CASE WHEN scheduled_at IS NOT DISTINCT FROM ${s.scheduledAt} THEN paused_at END,
          failure_reason = CASE WHEN scheduled_at IS NOT DISTINCT FROM ${s.scheduledAt} THEN failure_reason END,
          updated_at = now()
        WHERE account_id = ${accountId} AND id = ${id} AND ${statusAllows(confirmed ? 'reschedule' : 'edit')}
          AND (confirmed_at IS NOT NULL) = ${confirmed}`,
  );

/** A condition for a WHERE clause: the campaign is in a status in which this move may start. */
export const statusAllows = (move: keyof typeof MOVES): Sql =>
  sql`status = ANY(${plainArray(MOVES[move].from)}::smallint[])`;

/** Locks lists against changes until the transaction ends. Returns the ids of those that exist. */
export async function claimListsForShare(
  db: Db,
  { accountId, ids }: Of & { ids: readonly number[] },
): Promise<number[]> {
  const rows = await many<{ id: number }>(
    db,
    sql`SELECT id FROM contact_list
        WHERE account_id = ${accountId} AND id = ANY(${plainArray(ids)}::bigint[]) AND deleted_at IS NULL
        ORDER BY id FOR SHARE`,
  );
  return rows.map(({ id }) => id);
}

/** Lists the contact lists that exist among `ids`, with the versions that show whether they have changed. */
export const listListVersions = (
  db: Db,
  { accountId, ids }: Of & { ids: readonly number[] },
): Promise<{ id: number; version: number; contactCount: number }[]> =>
  many(
    db,
    sql`SELECT id, version, contact_count AS "contactCount" FROM contact_list
        WHERE account_id = ${accountId} AND id = ANY(${plainArray(ids)}::bigint[]) AND deleted_at IS NULL`,
  );

type CountedAudience = {
  readonly audience: AudienceCount;
  /** The version of the campaign before the recipients were counted. */
  readonly version: number;
  /** The versions of its lists, in their order, before the recipients were counted. */
  readonly listVersions: readonly number[];
  readonly estimatedMicros: number;
};

/** Stores the audience of a campaign. Returns 0 when the campaign has been confirmed or deleted in the meantime. */
export const updateAudience = (db: Db, { accountId, id, ...g }: One & CountedAudience): Promise<number> =>
  exec(
    db,
    sql`UPDATE campaign SET audience = ${JSON.stringify(g.audience)}::jsonb, audience_version = ${g.version},
          audience_list_versions = ${plainArray(g.listVersions)}::bigint[], audience_at = now(),
          total_destinations = ${g.audience.total}, estimated_micros = ${g.estimatedMicros}
        WHERE account_id = ${accountId} AND id = ${id} AND ${statusAllows('edit')} AND confirmed_at IS NULL`,
  );

/** Notifies the workers that a campaign is due; the notification is delivered when the transaction commits. */
export const wakeCampaign = (db: Db, { campaignId }: { campaignId: number }): Promise<number> =>
  exec(db, sql`SELECT pg_notify(${CAMPAIGNS_CHANNEL}, ${String(campaignId)})`);

const day = (description: string) =>
  Type.Optional(
    Type.String({ format: 'date', description: `${description} Requires the other date. yyyy-MM-dd, in UTC.` }),
  );
const flag = (description: string) => Type.Optional(Type.Boolean({ description }));

const MODE = `(${SENDING_MODES.join('|')})`;

/** The query parameters that filter a list of campaigns. */
export const campaignFilterFields = {
  status: Type.Optional(
    Type.String({
      pattern: '^[0-4](,[0-4]){0,4}$',
      'x-message': 'must be a status from 0 to 4, or several separated by commas',
      description: 'Any of these statuses, separated by commas.',
    }),
  ),
  isDraft: flag('True if the status is 0.'),
  isProgrammed: flag('True if it is confirmed and scheduled for the future.'),
  sendingMode: Type.Optional(
    Type.String({
      pattern: `^${MODE}(,${MODE}){0,20}$`,
      'x-message': `must be one of ${SENDING_MODES.join(', ')}, or several separated by commas`,
      description: 'Exactly this mode, or any of several separated by commas.',
    }),
  ),
  search: Type.Optional(
    Type.String({ maxLength: 200, description: 'A part of the name or description, case-insensitive.' }),
  ),
  startDate: day('Created or scheduled on this day or later.'),
  endDate: day('Created or scheduled on this day or earlier.'),
  readyToSend: flag('True if the campaign is marked as ready to send.'),
  direction: Type.Enum(['ASC', 'DESC'], { type: 'string', default: 'DESC', description: 'The order by creation.' }),
};

const Filters = Type.Object(campaignFilterFields);

/**
 * Reads the filter of a list of campaigns. Errors: 400 when one of the two dates is given without the other, or the
 * last day is before the first.
 */
export function readFilter(accountId: number, query: Static<typeof Filters>): CampaignFilter {
  const { status, isDraft, isProgrammed, readyToSend, search, sendingMode, startDate, endDate } = query;
  const statuses = status?.split(',').map(Number);
  const modes = sendingMode
    ?.split(',')
    .filter((mode): mode is SendingMode => SENDING_MODES.some((one) => one === mode));
  if ((startDate === undefined) !== (endDate === undefined))
    throw invalidFields([
      { field: startDate === undefined ? 'startDate' : 'endDate', message: 'is required with the other date' },
    ]);
  if (startDate !== undefined && endDate !== undefined && endDate < startDate)
    throw invalidFields([{ field: 'endDate', message: 'must not be before startDate' }]);
  const window =
    startDate === undefined || endDate === undefined
      ? undefined
      : { from: new Date(startDate), until: new Date(Date.parse(endDate) + DAY_MS) };
  return { accountId, statuses, isDraft, isProgrammed, readyToSend, search, sendingModes: modes, window };
}

/** Filter for listing campaigns of an account. An undefined filter matches all of them. */
type CampaignFilter = {
  readonly accountId: number;
  readonly statuses?: readonly number[] | undefined;
  readonly isDraft?: boolean | undefined;
  /** Confirmed, with a scheduled time in the future. */
  readonly isProgrammed?: boolean | undefined;
  readonly sendingModes?: readonly SendingMode[] | undefined;
  /** A part of the name or description, in upper or lower case. */
  readonly search?: string | undefined;
  /** Created or scheduled at or after `from` and before `until`. */
  readonly window?: { readonly from: Date; readonly until: Date } | undefined;
  readonly readyToSend?: boolean | undefined;
};

const programmed = sql`(k.confirmed_at IS NOT NULL AND k.scheduled_at IS NOT NULL AND k.scheduled_at > now())`;

function matching({ accountId, window, search, sendingModes, statuses, ...is }: CampaignFilter): Sql {
  const draft = sql`(k.status = ${CAMPAIGN.DRAFT})`;
  const flags = [
    [is.isDraft, draft],
    [is.isProgrammed, programmed],
    [is.readyToSend, sql`k.ready_to_send`],
  ] as const;
  return join(
    [
      sql`k.account_id = ${accountId}`,
      ...flags.flatMap(([wanted, flag]) => (wanted === undefined ? [] : [sql`${flag} = ${wanted}`])),
      ...(statuses ? [sql`k.status = ANY(${plainArray(statuses)}::smallint[])`] : []),
      ...(sendingModes ? [sql`k.sending_mode = ANY(${textArray(sendingModes)}::text[])`] : []),
      ...(search === undefined
        ? []
        : [sql`fold_text(k.name || E'\n' || k.description) LIKE ${containsPattern(search)}`]),
      ...(window ? [sql`(${within(sql`k.created_at`, window)} OR ${within(sql`k.scheduled_at`, window)})`] : []),
    ],
    ' AND ',
  );
}

const within = (column: Sql, { from, until }: NonNullable<CampaignFilter['window']>): Sql =>
  sql`${column} >= ${from} AND ${column} < ${until}`;

type Paging = { readonly limit: number; readonly offset: number; readonly descending: boolean };

/** Lists a page of the campaigns that match, in the order of their creation. */
export const listCampaigns = (
  db: Db,
  { filter, limit, offset, descending }: Paging & { filter: CampaignFilter },
): Promise<CampaignEntry[]> => {
  const direction = raw(descending ? 'DESC' : 'ASC');
  return many(
    db,
    sql`SELECT ${CAMPAIGN_ENTRY} ${CAMPAIGN_SOURCE} WHERE ${matching(filter)}
        ORDER BY k.created_at ${direction}, k.id ${direction} LIMIT ${limit} OFFSET ${offset}`,
  );
};

export async function countCampaigns(db: Db, { filter }: { filter: CampaignFilter }): Promise<number> {
  return (await one<{ total: number }>(db, sql`SELECT count(*) AS total FROM campaign k WHERE ${matching(filter)}`))
    .total;
}
