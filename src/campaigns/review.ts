import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { refuseOutsidePlan } from '../accounts/accounts.ts';
import type { Actor } from '../core/actor.ts';
import { bitOf, type Channel } from '../core/channels.ts';
import { as, columns, type Db, many, type RowOf, sql } from '../core/db/query.ts';
import { setStatementTimeoutMinutes, tenantTransaction } from '../core/db/transaction.ts';
import { type App, type PlatformDeps, withExamples } from '../core/http/app.ts';
import { assertScope, requireScope } from '../core/http/auth.ts';
import { idempotentHandler } from '../core/http/idempotency.ts';
import { amountFor, shownAmount } from '../core/money.ts';
import { channelName, orNull } from '../core/schema.ts';
import { type OptOutLinks, optOutFault } from '../messages/opt-out-links.ts';
import { findBalance } from '../money/credit.ts';
import { BULK_SHARE, listLimitUses } from '../routing/messaging-limits.ts';
import { DAY_MS } from '../core/time.ts';
import { type AudienceRow, chainOf, listAudienceRows, sumAudience } from './audience.ts';
import { checkSettings, checkTemplates, readNewSettings, toSkipped } from './campaign.ts';
import { countOverWeeklyCap } from './create.ts';
import { PreviewIn, planUnsaved } from './preview.ts';
import { CampaignIn, Skipped } from './schema.ts';

const { sendingMode, smsSender, smsBody, rcsAgentId, rcsTemplateId, rcsTrafficType, ...more } = PreviewIn.properties;

export const ReviewIn = Type.Object({
  sendingMode,
  smsSender,
  smsBody,
  encoding: more.encoding,
  purpose: more.purpose,
  weeklyCap: CampaignIn.properties.weeklyCap,
  scheduledDate: CampaignIn.properties.scheduledDate,
  rcsAgentId,
  rcsTemplateId,
  rcsTrafficType,
  whatsappPhoneNumberId: more.whatsappPhoneNumberId,
  whatsappTemplateId: more.whatsappTemplateId,
  contactListIds: more.contactListIds,
  destinations: CampaignIn.properties.destinations,
});
export type ReviewIn = Static<typeof ReviewIn>;

const count = (description: string) => Type.Integer({ description });

const ReviewOut = Type.Object({
  total: count('Distinct recipients to whom something would be sent.'),
  totalSkipped: count('Recipients to whom nothing would be sent.'),
  skipped: Skipped,
  overWeeklyCap: count(
    'Recipients in `total` who are skipped when their turn comes: they have had as many marketing messages within seven ' +
      'days as `weeklyCap` or the account allows.',
  ),
  channels: Type.Array(
    Type.Object({
      channel: channelName(),
      reachable: count('Recipients who can be reached on it.'),
      first: count('Recipients for whom it is the first channel that is tried.'),
      tried: count('Estimated number of recipients that will be tried on it.'),
      deliveryRate: orNull(
        Type.Number({
          description:
            'The share of the messages of the account on this channel that were delivered in the last 90 days, 0 to 1. Null ' +
            'with fewer than 50 of them: then all are assumed to be delivered.',
        }),
      ),
      expectedPrice: shownAmount('Estimated cost.'),
      priceOfAll: shownAmount('Cost if all who can be reached on it get the message there.'),
    }),
    { description: 'In the order of the mode.' },
  ),
  expectedPrice: shownAmount('Estimated cost of the campaign.'),
  maxPrice: shownAmount('Amount that would be reserved at the confirmation: the campaign cannot cost more.'),
  breakdown: Type.Array(
    Type.Object({
      channel: Type.String(),
      country: Type.String({ description: 'ISO 3166-1 alpha-2; empty if the numbers belong to no country.' }),
      parts: Type.Integer(),
      count: Type.Integer(),
      unitPrice: shownAmount('Per part on SMS, per message on other channels.'),
      price: shownAmount('The sum.'),
    }),
    { description: 'Composition of `maxPrice`.' },
  ),
  messagingLimit: orNull(
    Type.Object(
      {
        people: count('The people to whom the portfolio of the WhatsApp number may write first within 24 hours.'),
        used: count('Those of them in the last 24 hours.'),
        doneAt: Type.String({
          format: 'date-time',
          description: 'Estimated time at which the last recipient gets the message if it begins now.',
        }),
      },
      { description: 'Null: the campaign does not use WhatsApp, or there is no limit.' },
    ),
  ),
  currency: Type.String(),
  problems: Type.Array(Type.Object({ field: Type.String(), message: Type.String() }), {
    description: 'Faults that prevent the campaign from being saved or confirmed.',
  }),
});
type ReviewOut = Static<typeof ReviewOut>;

const PATH = '/api/partner-gateway/v1/campaigns/preview';
/** Enough for 100,000 numbers. */
const LIMIT_BYTES = 4 * 1024 * 1024;

/** Registers the route that reviews a campaign before it is saved. */
export function reviewRoutes(app: App, deps: PlatformDeps & { readonly tables: OptOutLinks }): void {
  const { pool, clock } = deps;

  app.post(`${PATH}/review`, {
    onRequest: requireScope('campaigns', 'read'),
    bodyLimit: LIMIT_BYTES,
    config: { takesTurns: true },
    schema: {
      tags: ['Campaigns'],
      operationId: 'reviewCampaign',
      summary: 'Estimate the recipients and the cost of a campaign',
      description:
        'Nothing is stored: it gives the figures of calculateGoal for settings that are not saved, or not applied, ' +
        'with the expected results of each channel by the history of the account. With lists, the scope "contacts" is ' +
        'also required.',
      body: withExamples(ReviewIn, {
        sendingMode: 'SMS',
        smsSender: 'ACME',
        smsBody: 'Hello {{firstName|there}}',
        contactListIds: [1],
      }),
      response: { 200: ReviewOut },
    },
    handler: idempotentHandler(deps, async (request, _reply) => {
      const { actor, body } = request;
      refuseOutsidePlan(actor, chainOf(body.sendingMode));
      if (body.contactListIds?.length) assertScope(request, 'contacts', 'read');
      return tenantTransaction(pool, actor, (tx) =>
        reviewCampaign(tx, actor, { ...body, ...deps.tables, now: clock.now() }),
      );
    }),
  });
}

/** The share of messages that were delivered on each channel, from 0 to 1; omitted if unknown. */
type DeliveryRates = Readonly<Partial<Record<Channel, number>>>;

type ChannelExpectation = {
  readonly channel: Channel;
  /** Recipients who can be reached on it, whether or not it is tried first for them. */
  readonly reachable: number;
  /** Recipients for whom it is the first channel. */
  readonly first: number;
  /** Estimated number of recipients who will be tried on it. */
  readonly tried: number;
  readonly expectedMicros: number;
  /** Its cost if every recipient who can be reached on it gets the message there. */
  readonly allMicros: number;
};

/**
 * Estimates the load of each channel of a chain, from the counts of one pass over the recipients (`rows`) and the share
 * of messages that are delivered. A recipient is tried on a channel if none of those before it has delivered. If no
 * rate is known, every message is assumed to be delivered. A price is expected in full, except if it is returned for
 * undelivered messages.
 */
export function expectChannels(
  rows: readonly AudienceRow[],
  chain: readonly Channel[],
  rates: DeliveryRates,
): ChannelExpectation[] {
  const found = chain.map((channel) => ({ channel, ...NOTHING }));
  for (const row of rows) {
    if (row.reason !== null) continue;
    let left = row.count;
    for (const [i, each] of found.entries()) {
      if (!(row.channels & bitOf(each.channel))) continue;
      const rate = rates[each.channel] ?? 1;
      const micros = (row.unitMicros[i] ?? 0) * (row.units[i] ?? 1);
      each.reachable += row.count;
      if (isFirst(row, chain, i)) each.first += row.count;
      each.tried += left;
      each.expectedMicros += left * micros * (row.refunds[i] === true ? rate : 1);
      each.allMicros += row.count * micros;
      left *= 1 - rate;
    }
  }
  return found.map(({ tried, expectedMicros, ...each }) => ({
    ...each,
    tried: Math.round(tried),
    expectedMicros: Math.round(expectedMicros),
  }));
}

const isFirst = ({ channels }: AudienceRow, chain: readonly Channel[], i: number): boolean =>
  chain.slice(0, i).every((channel) => !(channels & bitOf(channel)));

const NOTHING = { reachable: 0, first: 0, tried: 0, expectedMicros: 0, allMicros: 0 };

const MAX_MINUTES = 10;
const HISTORY_DAYS = 90;
/** Minimum number of messages for an estimate. */
const ENOUGH_MESSAGES = 50;

/**
 * Counts the recipients that a campaign with these settings would reach, channel by channel, and their probable and
 * maximum cost. It is one pass over the lists or numbers, as for the audience, and gives the same figures; nothing is
 * stored. Call it in a transaction. Faulty settings are reported in `problems`.
 */
async function reviewCampaign(
  tx: Db,
  actor: Pick<Actor, 'accountId' | 'operations'>,
  { now, optOutLink, ...body }: ReviewIn & OptOutLinks & { readonly now: Date },
): Promise<ReviewOut> {
  const { accountId } = actor;
  await setStatementTimeoutMinutes(tx, MAX_MINUTES);
  // A campaign has more fields, which were not validated here.
  Value.Clean(ReviewIn, body);
  const { settings, faults } = readNewSettings({ ...body, name: 'review' }, now);
  const { plan, size } = await planUnsaved(tx, { accountId, settings, optOutLink });
  const rows = await listAudienceRows(tx, plan);
  const { estimatedMicros, ...audience } = sumAudience(rows, plan.mode, size);
  const chain = chainOf(settings.sendingMode);
  const rates = ratesOf(await listChannelHistory(tx, { accountId, days: HISTORY_DAYS }), chain);
  const channels = expectChannels(rows, chain, rates);
  const problems = [
    ...faults,
    ...optOutFault('smsBody', settings.smsBody, { optOutLink }),
    ...(await checkSettings(tx, { accountId, settings })),
    ...(await checkTemplates(tx, { accountId, settings })),
  ];
  return {
    total: audience.total,
    totalSkipped: audience.skippedTotal,
    skipped: toSkipped(audience.skipped),
    overWeeklyCap: await countOverWeeklyCap(tx, plan, settings),
    channels: channels.map(({ expectedMicros, allMicros, ...each }) => ({
      ...each,
      deliveryRate: rates[each.channel] ?? null,
      expectedPrice: amountFor(actor, expectedMicros),
      priceOfAll: amountFor(actor, allMicros),
    })),
    expectedPrice: amountFor(
      actor,
      channels.reduce((sum, { expectedMicros }) => sum + expectedMicros, 0),
    ),
    maxPrice: amountFor(actor, estimatedMicros),
    breakdown: audience.breakdown.map(({ unitMicros, priceMicros, ...line }) => ({
      ...line,
      unitPrice: amountFor(actor, unitMicros),
      price: amountFor(actor, priceMicros),
    })),
    messagingLimit: await expectLimit(tx, { settings, channels, now }),
    currency: (await findBalance(tx, { accountId }))?.currency ?? 'EUR',
    problems: problems.map(({ field, message }) => ({ field, message })),
  };
}

type Limited = {
  readonly settings: { readonly whatsappPhoneNumberId?: string | null };
  readonly channels: readonly ChannelExpectation[];
  readonly now: Date;
};

/** Finds the messaging limit of a campaign, and estimates when the last person is reached within it. */
async function expectLimit(
  tx: Db,
  { settings: { whatsappPhoneNumberId: phoneNumberId }, channels, now }: Limited,
): Promise<ReviewOut['messagingLimit']> {
  const tried = channels.find(({ channel }) => channel === 'WHATSAPP')?.tried;
  if (!phoneNumberId || tried === undefined) return null;
  const [use] = await listLimitUses(tx, [phoneNumberId]);
  if (!use || use.people === null) return null;
  const { people, used } = use;
  return { people, used, doneAt: new Date(now.getTime() + daysFor(tried, { people, used }) * DAY_MS).toISOString() };
}

/** Returns after how many times 24 hours a number of people is reached. */
export function daysFor(tried: number, { people, used }: { readonly people: number; readonly used: number }): number {
  const perDay = Math.max(1, Math.floor(people * BULK_SHARE));
  return Math.ceil(Math.max(0, tried - Math.max(0, perDay - used)) / perDay);
}

function ratesOf(history: readonly ChannelHistory[], chain: readonly Channel[]): DeliveryRates {
  const known = chain.flatMap((channel) => {
    const { delivered = 0, failed = 0 } = history.find((row) => row.channel === bitOf(channel)) ?? {};
    const ended = delivered + failed;
    return ended < ENOUGH_MESSAGES ? [] : [[channel, delivered / ended] as const];
  });
  return Object.fromEntries(known);
}

const HISTORY = columns({
  channel: as<number>('h.channel'),
  delivered: as<number>('sum(h.delivered)::bigint'),
  failed: as<number>('sum(h.failed)::bigint'),
});

/** Number of an account's messages that were delivered on a channel, and that were not. */
type ChannelHistory = RowOf<typeof HISTORY>;

/**
 * Sums up the outcomes of an account's messages by channel, from the daily and hourly figures of the last `days` days:
 * some hundred rows, however much was sent.
 */
const listChannelHistory = (
  db: Db,
  { accountId, days }: { accountId: number; days: number },
): Promise<ChannelHistory[]> =>
  many(
    db,
    sql`SELECT ${HISTORY} FROM (
          SELECT channel, delivered, failed FROM traffic_day
          WHERE account_id = ${accountId} AND day >= (now() AT TIME ZONE 'UTC')::date - ${days}::int
          UNION ALL
          SELECT channel, delivered, failed FROM traffic_hour
          WHERE account_id = ${accountId} AND shard >= 0 AND hour >= now() - ${days} * interval '1 day') AS h
        GROUP BY h.channel`,
  );
