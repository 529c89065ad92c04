import type { Pool } from 'pg';
import { toEntryOut } from '../../engagement/campaigns/answer.ts';
import { createPaceMeter, type FindPace } from '../../engagement/campaigns/pace.ts';
import type { CampaignEntry } from '../../engagement/campaigns/sql.ts';
import { findBalance } from '../../money/credit/sql.ts';
import { tenantTransaction } from '../../platform/db/tenant.ts';
import type { Db } from '../../platform/db/query.ts';
import type { Actor } from '../../platform/http/actor.ts';
import { createMeter, type Meter } from '../../platform/lib/meter.ts';
import { fromMicros } from '../../platform/lib/money.ts';
import { compareAttention, creditAttention, listSharedAttention, listOwnAttention } from './attention/find.ts';
import type { OverviewOut } from './schema.ts';
import { listActiveCampaigns, listHours } from './sql.ts';
import * as traffic from './traffic.ts';

const SENDING = 10;
const SCHEDULED = 5;
const NO_BALANCE = { currency: 'EUR', availableMicros: 0, frozenMicros: 0, unlimited: false };

type Asked = { readonly hours: number; readonly now: Date };
type Rates = { readonly meter: Meter; readonly findPace: FindPace };

/**
 * Shows how an account is doing at this moment: from roll-ups, and from bounded reads of what is newest, so that it costs
 * the same however much was sent. The rates need what this process saw before.
 */
export function createOverview(pool: Pool): (actor: Actor, asked: Asked) => Promise<OverviewOut> {
  const rates = { meter: createMeter(), findPace: createPaceMeter() };
  return async (actor, asked) => {
    const [own, common] = await Promise.all([
      tenantTransaction(pool, actor, (tx) => readOwn(tx, actor, asked)),
      listSharedAttention(pool, actor),
    ]);
    return toOverview(actor, asked, { ...own, common }, rates);
  };
}

/** On one connection, one behind the other. */
async function readOwn(db: Db, actor: Actor, { hours, now }: Asked) {
  const { accountId, operations } = actor;
  const rows = await listHours(db, { accountId, from: traffic.firstHourNeeded(now, hours) });
  const accepted = await traffic.acceptedPerSecond(db, accountId, now);
  const balance = (await findBalance(db, { accountId })) ?? NO_BALANCE;
  const campaigns = operations.has('campaigns')
    ? await listActiveCampaigns(db, { accountId, sending: SENDING, scheduled: SCHEDULED })
    : [];
  return { rows, accepted, balance, campaigns, attention: await listOwnAttention(db, actor) };
}

type Read = Awaited<ReturnType<typeof readOwn>> & { readonly common: OverviewOut['attention'] };

function toOverview(
  actor: Actor,
  { hours, now }: Asked,
  { rows, accepted, balance, campaigns, attention, common }: Read,
  { meter, findPace }: Rates,
): OverviewOut {
  const from = traffic.startOfYesterday(now);
  const ends = meter.read(`${actor.accountId}/${from.getTime()}`, now, traffic.countEndsSince(rows, from));
  const [delivered = null, failed = null] = ends?.map(traffic.perSecond) ?? [];
  const money = creditAttention(balance, traffic.lastDayCostMicros(rows, now));
  return {
    asOf: now.toISOString(),
    rate: { accepted, delivered, failed },
    totals: { today: traffic.totalsOfToday(rows, now) },
    series: traffic.seriesOf(rows, now, hours),
    credit: toCredit(balance),
    campaigns: campaigns.map((campaign) => toRunning(campaign, findPace(actor, campaign, now))),
    attention: [...common, ...money, ...attention].sort(compareAttention),
  };
}

const toCredit = ({ availableMicros, frozenMicros, currency, unlimited }: Read['balance']): OverviewOut['credit'] => ({
  available: fromMicros(availableMicros),
  frozen: fromMicros(frozenMicros),
  currency,
  unlimited,
});

function toRunning(campaign: CampaignEntry, pace: ReturnType<FindPace>): OverviewOut['campaigns'][number] {
  const { id, name, status, sendingMode, paused, progress, failureReason, totalDestinations } = toEntryOut(campaign);
  return {
    id,
    name,
    status,
    sendingMode,
    paused,
    progress,
    failureReason,
    ...pace,
    scheduledAt: campaign.scheduledAt?.toISOString() ?? null,
    sent: campaign.handled,
    total: totalDestinations,
  };
}
