import { plainArray, textArray } from '../../platform/db/array.ts';
import { type Db, exec, many, maybeOne, one, type Sql, sql } from '../../platform/db/query.ts';
import type { Goal } from './audience/goal.ts';
import type { SendingMode } from './mode.ts';
import { CAMPAIGNS_CHANNEL } from '../../messaging/messages/campaign-ends/sql.ts';
import { type CampaignStatus, MOVES } from './states.ts';

type Of = { readonly accountId: number };
type One = Of & { readonly id: number };

/** How recipients of combined modes go on: seconds until the next channel is tried, and on which ends. */
export type Fallback = {
  readonly after?: { readonly WHATSAPP?: number; readonly RCS?: number };
  readonly onStatus?: string[];
};

/** When recipients are left alone, in their own time: `HH:mm`. `off`: never, whatever the account has. */
export type QuietHours = { readonly from: string; readonly to: string } | { readonly off: true };

/** What people set of a campaign. */
export type Settings = {
  name: string;
  description: string;
  sendingMode: SendingMode;
  smsSender: string | null;
  smsBody: string | null;
  rcsAgentId: string | null;
  rcsTemplateId: string | null;
  whatsappPhoneNumberId: string | null;
  whatsappTemplateId: string | null;
  destinationType: 1 | 2 | null;
  contactListIds: number[];
  destinations: string[];
  scheduledAt: Date | null;
  readyToSend: boolean;
  fallback: Fallback;
  quietHours: QuietHours | null;
  rate: number | null;
};

/** The valid ones of the destinations, each once and sorted, with what their plans say of them. */
export type Numbers = {
  readonly numbers: readonly string[];
  readonly countries: readonly string[];
  readonly channels: readonly number[];
  /** Destinations that are no valid number. */
  readonly unreadable: number;
};

export type CampaignRow = Settings & {
  id: number;
  status: CampaignStatus;
  version: number;
  /** Of the destinations: those that are no valid number. */
  unreadable: number;
  goal: Omit<Goal, 'prices'> | null;
  goalAt: Date | null;
  /** The goal counted what would be sent now: nothing of the campaign and of its lists has changed since. */
  goalFresh: boolean;
  totalDestinations: number;
  estimatedMicros: number;
  reservedMicros: number;
  currency: string;
  /** What the account has to spend; null: it pays afterwards. */
  availableMicros: number | null;
  failureReason: string | null;
  createdAt: Date;
  updatedAt: Date;
  confirmedAt: Date | null;
  startedAt: Date | null;
  pausedAt: Date | null;
  cancelledAt: Date | null;
  completedAt: Date | null;
  /** Null before the confirmation. */
  run: { expanded: boolean; recipients: number; skipped: number; ended: number; delivered: number } | null;
  /** What came of its messages, by the roll-ups. */
  delivered: number;
  failed: number;
  /** Given to carriers, or ended before any had them. */
  handled: number;
  costMicros: number;
};

const SETTINGS = sql`k.name, k.description, k.sending_mode AS "sendingMode", k.sms_sender AS "smsSender",
  k.sms_body AS "smsBody", k.rcs_agent_id AS "rcsAgentId", k.rcs_template_id AS "rcsTemplateId",
  k.whatsapp_phone_number_id AS "whatsappPhoneNumberId", k.whatsapp_template_id AS "whatsappTemplateId",
  k.destination_type AS "destinationType", k.contact_list_ids AS "contactListIds",
  k.scheduled_at AS "scheduledAt", k.ready_to_send AS "readyToSend", k.fallback, k.quiet_hours AS "quietHours", k.rate`;

const FRESH = sql`(k.goal_version IS NOT DISTINCT FROM k.version AND k.goal_list_versions IS NOT DISTINCT FROM ARRAY(
  SELECT l.version FROM unnest(k.contact_list_ids) WITH ORDINALITY AS u (id, place)
  JOIN contact_list l ON l.account_id = k.account_id AND l.id = u.id ORDER BY u.place))`;

const RECORD = sql`SELECT k.id, k.status, k.version, ${SETTINGS},
  k.unreadable_numbers AS unreadable, k.goal - 'prices' AS goal, k.goal_at AS "goalAt", ${FRESH} AS "goalFresh",
  k.total_destinations AS "totalDestinations", k.estimated_micros AS "estimatedMicros",
  k.reserved_micros AS "reservedMicros",
  b.currency, CASE WHEN b.unlimited THEN NULL ELSE b.available_micros END AS "availableMicros",
  k.failure_reason AS "failureReason", k.created_at AS "createdAt", k.updated_at AS "updatedAt",
  k.confirmed_at AS "confirmedAt", k.started_at AS "startedAt", k.paused_at AS "pausedAt",
  k.cancelled_at AS "cancelledAt", k.completed_at AS "completedAt",
  (SELECT jsonb_build_object('expanded', r.expanded, 'recipients', r.recipients, 'skipped', r.skipped, 'ended', r.ended,
            'delivered', r.delivered)
   FROM campaign_run r WHERE r.account_id = k.account_id AND r.campaign_id = k.id) AS run,
  t.delivered, t.failed, t.handled, t.cost AS "costMicros"`;

const TRAFFIC = sql`CROSS JOIN LATERAL (
  SELECT coalesce(sum(h.delivered), 0)::bigint AS delivered, coalesce(sum(h.failed), 0)::bigint AS failed,
         coalesce(sum(h.sent + h.unsent), 0)::bigint AS handled,
         coalesce(sum(h.cost_micros), 0)::bigint AS cost
  FROM traffic_hour h WHERE h.account_id = k.account_id AND h.campaign_id = k.id AND h.campaign_id <> 0) AS t`;

const SOURCE = sql`FROM campaign k JOIN credit_balance b ON b.account_id = k.account_id ${TRAFFIC}`;

/** A campaign in a list: its numbers, up to 100,000, are left out. */
export type CampaignEntry = Omit<CampaignRow, 'destinations'>;

/** The columns of a `CampaignEntry` and where they come from: `campaign k`; the caller says which and in what order. */
export const CAMPAIGN_ENTRIES: Sql = sql`${RECORD} ${SOURCE}`;

export const findCampaign = (db: Db, { accountId, id }: One): Promise<CampaignRow | undefined> =>
  maybeOne(db, sql`${RECORD}, k.destinations ${SOURCE} WHERE k.account_id = ${accountId} AND k.id = ${id}`);

/** The same, locked until the transaction ends: take it before anything else of the campaign. */
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
          rcs_template_id, whatsapp_phone_number_id, whatsapp_template_id, destination_type, contact_list_ids,
          destinations, numbers, number_countries, number_channels, unreadable_numbers, scheduled_at, ready_to_send, fallback, quiet_hours,
          rate)
        VALUES (${accountId}, ${s.readyToSend ? 1 : 0}, ${s.name}, ${s.description}, ${s.sendingMode}, ${s.smsSender},
          ${s.smsBody}, ${s.rcsAgentId}, ${s.rcsTemplateId}, ${s.whatsappPhoneNumberId}, ${s.whatsappTemplateId},
          ${s.destinationType}, ${plainArray(s.contactListIds)}::bigint[], ${textArray(s.destinations)}::text[],
          ${plainArray(n.numbers)}::text[], ${textArray(n.countries)}::text[], ${plainArray(n.channels)}::smallint[],
          ${n.unreadable}, ${s.scheduledAt}, ${s.readyToSend}, ${JSON.stringify(s.fallback)}::jsonb, ${jsonOrNull(s.quietHours)}::jsonb,
          ${s.rate})
        RETURNING id`,
  );

const jsonOrNull = (value: object | null): string | null => (value === null ? null : JSON.stringify(value));

/**
 * Writes the settings of a campaign that is not confirmed. `stales`: the goal has become another one. 0 when it may not be
 * edited any more.
 */
export const updateSettings = (
  db: Db,
  { accountId, id, settings: s, numbers: n, stales }: One & { settings: Settings; numbers: Numbers; stales: boolean },
): Promise<number> =>
  exec(
    db,
    sql`UPDATE campaign SET status = ${s.readyToSend ? 1 : 0}, name = ${s.name}, description = ${s.description},
          sending_mode = ${s.sendingMode}, sms_sender = ${s.smsSender}, sms_body = ${s.smsBody},
          rcs_agent_id = ${s.rcsAgentId}, rcs_template_id = ${s.rcsTemplateId},
          whatsapp_phone_number_id = ${s.whatsappPhoneNumberId}, whatsapp_template_id = ${s.whatsappTemplateId},
          destination_type = ${s.destinationType}, contact_list_ids = ${plainArray(s.contactListIds)}::bigint[],
          destinations = ${textArray(s.destinations)}::text[], numbers = ${plainArray(n.numbers)}::text[],
          number_countries = ${textArray(n.countries)}::text[],
          number_channels = ${plainArray(n.channels)}::smallint[], unreadable_numbers = ${n.unreadable},
          scheduled_at = ${s.scheduledAt},
          ready_to_send = ${s.readyToSend}, fallback = ${JSON.stringify(s.fallback)}::jsonb,
          quiet_hours = ${jsonOrNull(s.quietHours)}::jsonb, rate = ${s.rate}, version = version + ${stales ? 1 : 0},
          updated_at = now()
        WHERE account_id = ${accountId} AND id = ${id} AND ${statusAllows('edit')} AND confirmed_at IS NULL`,
  );

/** In a WHERE clause: the states that this move may start from. */
export const statusAllows = (move: keyof typeof MOVES): Sql =>
  sql`status = ANY(${plainArray(MOVES[move].from)}::smallint[])`;

/** Those of these lists that are there, held as they are until the transaction ends. */
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

/** Lists that are there, with what tells whether they have changed. */
export const listListVersions = (
  db: Db,
  { accountId, ids }: Of & { ids: readonly number[] },
): Promise<{ id: number; version: number; contactCount: number }[]> =>
  many(
    db,
    sql`SELECT id, version, contact_count AS "contactCount" FROM contact_list
        WHERE account_id = ${accountId} AND id = ANY(${plainArray(ids)}::bigint[]) AND deleted_at IS NULL`,
  );

export type NewGoal = {
  readonly goal: Goal;
  /** Of the campaign and of its lists in their order, as they were before they were counted. */
  readonly version: number;
  readonly listVersions: readonly number[];
  readonly estimatedMicros: number;
};

/** Keeps what was counted. 0 when the campaign is confirmed by now, or gone. */
export const updateGoal = (db: Db, { accountId, id, ...g }: One & NewGoal): Promise<number> =>
  exec(
    db,
    sql`UPDATE campaign SET goal = ${JSON.stringify(g.goal)}::jsonb, goal_version = ${g.version},
          goal_list_versions = ${plainArray(g.listVersions)}::bigint[], goal_at = now(),
          total_destinations = ${g.goal.total}, estimated_micros = ${g.estimatedMicros}
        WHERE account_id = ${accountId} AND id = ${id} AND ${statusAllows('edit')} AND confirmed_at IS NULL`,
  );

/** The workers look at it, when the transaction has committed. */
export const wakeCampaign = (db: Db, { campaignId }: { campaignId: number }): Promise<number> =>
  exec(db, sql`SELECT pg_notify(${CAMPAIGNS_CHANNEL}, ${String(campaignId)})`);
