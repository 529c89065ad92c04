import type { TrafficType } from '../channels/carrier.ts';
import type { Channel, Purpose } from '../core/channels.ts';
import { as, columns, type Db, one, type RowOf, raw, type Sql, sql } from '../core/db/query.ts';
import { purposeOfCampaign } from '../messages/billing.ts';
import { IS_HELD, senderKey } from '../messages/consent.ts';
import { poolNameOf } from '../routing/sender-rules.ts';
import { hasMarketing } from '../templates/store.ts';

const RULES = columns({
  otpAfterStop: as<boolean>('coalesce(s.otp_after_stop, false)'),
  requireOptIn: as<boolean>('coalesce(s.require_opt_in, false)'),
});

const SOURCES = columns({
  accountPurpose: as<Purpose | null>('a.default_purpose'),
  whatsappCategory: as<string | null>('lower(w.category)'),
  templateTraffic: as<TrafficType | null>('t.traffic_type'),
});

/** The rules and senders by which recipients of a campaign are refused. */
export type Refusals = RowOf<typeof RULES> & {
  readonly accountId: number;
  readonly purpose: Purpose | null;
  /** True if WhatsApp takes the template for marketing. */
  readonly hasMarketing: boolean;
  /** The sender on each channel; null: chosen for each message. */
  readonly senderOf: (channel: Channel) => string | null;
};

type Planned = {
  /** The channels of its chain, with underscores between them. */
  readonly sendingMode: string;
  readonly purpose?: Purpose | null;
  readonly smsSender?: string | null;
  readonly rcsAgentId?: string | null;
  readonly rcsTemplateId: string | null;
  readonly rcsTrafficType?: TrafficType | null;
  readonly whatsappTemplateId: string | null;
  readonly whatsappPhoneNumberId: string | null;
};

/** Loads what decides which recipients of a campaign must not get it. */
export async function loadRefusals(
  db: Db,
  { accountId, campaign }: { accountId: number; campaign: Planned },
): Promise<Refusals> {
  const { accountPurpose, whatsappCategory, templateTraffic, ...rules } = await one(
    db,
    sql`SELECT ${RULES}, ${SOURCES} FROM account a
        LEFT JOIN consent_settings s ON s.account_id = a.id
        LEFT JOIN template w ON w.channel = 'WHATSAPP' AND w.id = ${campaign.whatsappTemplateId}
        LEFT JOIN template t ON t.channel = 'RCS' AND t.id = ${campaign.rcsTemplateId}
        WHERE a.id = ${accountId}`,
  );
  const { purpose = null, rcsTrafficType: trafficType = null } = campaign;
  // A draft may keep the template of a channel that it no longer uses.
  const chain = campaign.sendingMode.split('_');
  const { smsSender: SMS, rcsAgentId: RCS, whatsappPhoneNumberId: WHATSAPP } = campaign;
  const senders = { SMS, RCS, WHATSAPP };
  return {
    ...rules,
    accountId,
    purpose: purposeOfCampaign({
      purpose,
      whatsappCategory: chain.includes('WHATSAPP') ? whatsappCategory : null,
      trafficType: chain.includes('RCS') ? (trafficType ?? templateTraffic) : null,
      accountPurpose,
    }),
    hasMarketing: await hasMarketing(db, { accountId, templateId: campaign.whatsappTemplateId }),
    senderOf(channel) {
      const sender = senders[channel] ?? '';
      return sender === '' || poolNameOf(sender) !== null ? null : senderKey(sender);
    },
  };
}

const isMarketing = ({ purpose, hasMarketing: isTemplate }: Refusals, channel: Channel): boolean =>
  purpose === 'marketing' || (channel === 'WHATSAPP' && isTemplate);

/** The purposes whose records decide on a channel. */
function purposesOf(refusals: Refusals, channel: Channel): readonly string[] {
  const { purpose, otpAfterStop } = refusals;
  const all = purpose === 'otp' && otpAfterStop ? [] : ['*'];
  return [
    ...new Set([
      ...all,
      ...(purpose === null ? [] : [purpose]),
      ...(isMarketing(refusals, channel) ? ['marketing'] : []),
    ]),
  ];
}

/** True if a recipient about whom nothing is known must not get the campaign on a channel. */
const refusesUnknown = (refusals: Refusals, channel: Channel): boolean =>
  refusals.requireOptIn && isMarketing(refusals, channel);

/**
 * A condition on the rows of `consent`: they decide about the campaign on a channel. Where each message has another
 * sender, a record of any of them decides.
 */
function decides(refusals: Refusals, channel: Channel): Sql {
  const sender = refusals.senderOf(channel);
  const ofMarketing = isMarketing(refusals, channel)
    ? sql`OR (purpose IN ('*', 'marketing') AND state = 'OPTED_IN') OR (purpose = 'marketing' AND state = 'PENDING')`
    : sql``;
  return sql`account_id = ${refusals.accountId} AND channel = ${channel}
    AND purpose = ANY(${purposesOf(refusals, channel)}::text[])
    ${sender === null ? sql`` : sql`AND sender IN ('*', ${sender})`}
    ${refusesUnknown(refusals, channel) ? sql`` : sql`AND (state = 'OPTED_OUT' ${ofMarketing})`}`;
}

/** A person who was asked whether they want marketing gets none before the answer. */
const isOut = (refusals: Refusals, channel: Channel): Sql => sql`bool_or(state = 'OPTED_OUT')
  OR (NOT bool_or(state = 'OPTED_IN') ${refusesUnknown(refusals, channel) ? sql`` : sql`AND bool_or(state = 'PENDING')`})`;

/** A SELECT of `person, refused`, each person once: those about whom something is known. */
export const refusingSql = (refusals: Refusals, channel: Channel): Sql =>
  sql`SELECT person, ${isOut(refusals, channel)} AS refused FROM (${statesSql(refusals, channel)}) AS said GROUP BY person`;

/** A SELECT of `person, state` with the records of people. An undecided wish counts as an opt-out. */
const statesSql = (refusals: Refusals, channel: Channel): Sql => sql`
  SELECT person, state FROM consent WHERE ${decides(refusals, channel)}
  ${
    isMarketing(refusals, channel)
      ? sql`UNION ALL SELECT c.person, 'OPTED_OUT' FROM suspected_opt_out c
            WHERE c.account_id = ${refusals.accountId} AND c.channel = ${channel} AND ${IS_HELD}`
      : sql``
  }`;

/** An expression: `refused`, or for persons without one whether they refuse. */
export const orUnknown = (refused: Sql, refusals: Refusals, channel: Channel): Sql =>
  sql`coalesce(${refused}, ${raw(String(refusesUnknown(refusals, channel)))})`;

/** An expression: true if a number refuses the campaign on a channel. */
export const isRefusedSql = (refusals: Refusals, channel: Channel, number: Sql): Sql =>
  orUnknown(
    sql`(SELECT ${isOut(refusals, channel)} FROM (${statesSql(refusals, channel)}) AS said WHERE person = person_of(${number}))`,
    refusals,
    channel,
  );
