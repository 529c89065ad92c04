import type { Pool } from 'pg';
import { toEntryOut } from '../../engagement/campaigns/answer.ts';
import { createPaceMeter, type FindPace } from '../../engagement/campaigns/pace.ts';
import type { CampaignEntry } from '../../engagement/campaigns/sql.ts';
import { findBalance } from '../../money/credit/sql.ts';
import type { Db } from '../../platform/db/query.ts';
import { tenantTransaction } from '../../platform/db/tenant.ts';
import type { Actor } from '../../platform/lib/actor.ts';
import { createMeter, type Meter } from '../../platform/lib/limits/meter.ts';
import { seesAmounts } from '../../platform/lib/amounts.ts';
import { fromMicros } from '../../platform/lib/money.ts';
import { compareAttention, creditAttention, listSharedAttention, listOwnAttention } from './attention/find.ts';
import type { OverviewOut } from './schema.ts';
import { listActiveCampaigns, listHours } from './sql.ts';
import * as traffic from './traffic.ts';

const MAX_SENDING = 10;
const MAX_SCHEDULED = 5;
const NO_BALANCE = { currency: 'EUR', availableMicros: 0, frozenMicros: 0, unlimited: false };

type Query = { readonly hours: number; readonly now: Date };
type Rates = { readonly meter: Meter; readonly findPace: FindPace };

/**
 * Creates a function that shows the current state of an account. It reads roll-ups and a bounded number of the newest
 * rows, so it costs the same however much was sent. The rates compare with what this process has read before.
 */
export function createOverview(pool: Pool): (actor: Actor, query: Query) => Promise<OverviewOut> {
  const rates = { meter: createMeter(), findPace: createPaceMeter() };
  return async (actor, query) => {
    const [own, shared] = await Promise.all([
      tenantTransaction(pool, actor, (tx) => readOwn(tx, actor, query)),
      listSharedAttention(pool, actor),
    ]);
    return toOverview(actor, query, { ...own, shared }, rates);
  };
}

/** Runs all queries on one connection, one after the other. */
async function readOwn(db: Db, actor: Actor, { hours, now }: Query) {
  const { accountId, operations } = actor;
  const rows = await listHours(db, { accountId, from: traffic.firstHourNeeded(now, hours) });
  const accepted = await traffic.acceptedPerSecond(db, accountId, now);
  const balance = (await findBalance(db, { accountId })) ?? NO_BALANCE;
  const campaigns = operations.has('campaigns')
    ? await listActiveCampaigns(db, { accountId, sending: MAX_SENDING, scheduled: MAX_SCHEDULED })
    : [];
  return { rows, accepted, balance, campaigns, attention: await listOwnAttention(db, actor) };
}

type Facts = Awaited<ReturnType<typeof readOwn>> & { readonly shared: OverviewOut['attention'] };

function toOverview(
  actor: Actor,
  { hours, now }: Query,
  { rows, accepted, balance, campaigns, attention, shared }: Facts,
  { meter, findPace }: Rates,
): OverviewOut {
  const from = traffic.startOfYesterday(now);
  const ends = meter.read(`${actor.accountId}/${from.getTime()}`, now, traffic.countEndsSince(rows, from));
  const [delivered = null, failed = null] = ends?.map(traffic.roundRate) ?? [];
  const showsCredit = seesAmounts(actor);
  const lowCredit = showsCredit ? creditAttention(balance, traffic.lastDayCostMicros(rows, now)) : [];
  return {
    asOf: now.toISOString(),
    rate: { accepted, delivered, failed },
    totals: { today: traffic.totalsOfToday(rows, now, actor) },
    series: traffic.seriesOf(rows, now, hours),
    credit: showsCredit ? toCredit(balance) : null,
    campaigns: campaigns.map((campaign) => toRunning(campaign, actor, findPace(actor, campaign, now))),
    attention: [...shared, ...lowCredit, ...attention].sort(compareAttention),
  };
}

const toCredit = ({ availableMicros, frozenMicros, currency, unlimited }: Facts['balance']) => ({
  available: fromMicros(availableMicros),
  frozen: fromMicros(frozenMicros),
  currency,
  unlimited,
});

function toRunning(
  campaign: CampaignEntry,
  actor: Actor,
  pace: ReturnType<FindPace>,
): OverviewOut['campaigns'][number] {
  const { id, name, status, sendingMode, paused, progress, failureReason, totalDestinations } = toEntryOut(
    campaign,
    actor,
  );
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
