import { Value } from 'typebox/value';
import { findBalance } from '../../../money/credit/sql.ts';
import type { Db } from '../../../platform/db/query.ts';
import { setStatementTimeoutMinutes } from '../../../platform/db/transaction.ts';
import type { Actor } from '../../../platform/lib/actor.ts';
import { amountFor } from '../../../platform/lib/amounts.ts';
import { bitOf, type Channel } from '../../../platform/lib/channel.ts';
import { toSkipped } from '../answer.ts';
import { sumGoal } from '../audience/goal.ts';
import { listGoalRows } from '../audience/sql.ts';
import { checkSettings, checkTemplates } from '../check.ts';
import { chainOf } from '../mode.ts';
import { planUnsaved } from '../preview/plan.ts';
import { readNewSettings } from '../settings.ts';
import { type DeliveryRates, expectChannels } from './expect.ts';
import { ReviewIn, type ReviewOut } from './schema.ts';
import { type ChannelHistory, listChannelHistory } from './sql.ts';

const MAX_MINUTES = 10;
const HISTORY_DAYS = 90;
/** Minimum number of messages for an estimate. */
const ENOUGH_MESSAGES = 50;

/**
 * Counts the recipients that a campaign with these settings would reach, channel by channel, and their probable and
 * maximum cost. It is one pass over the lists or numbers, as for the goal, and gives the same figures; nothing is
 * stored. Call it in a transaction. Faulty settings are reported in `problems`.
 */
export async function reviewCampaign(
  tx: Db,
  actor: Pick<Actor, 'accountId' | 'operations'>,
  { now, ...body }: ReviewIn & { readonly now: Date },
): Promise<ReviewOut> {
  const { accountId } = actor;
  await setStatementTimeoutMinutes(tx, MAX_MINUTES);
  // A campaign has more fields, which were not validated here.
  Value.Clean(ReviewIn, body);
  const { settings, faults } = readNewSettings({ ...body, name: 'review' }, now);
  const { plan, size } = await planUnsaved(tx, accountId, settings);
  const rows = await listGoalRows(tx, plan);
  const { estimatedMicros, ...goal } = sumGoal(rows, plan.mode, size);
  const chain = chainOf(settings.sendingMode);
  const rates = ratesOf(await listChannelHistory(tx, { accountId, days: HISTORY_DAYS }), chain);
  const channels = expectChannels(rows, chain, rates);
  const problems = [
    ...faults,
    ...(await checkSettings(tx, { accountId, settings })),
    ...(await checkTemplates(tx, { accountId, settings })),
  ];
  return {
    total: goal.total,
    totalSkipped: goal.skippedTotal,
    skipped: toSkipped(goal.skipped),
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
    breakdown: goal.breakdown.map(({ unitMicros, priceMicros, ...line }) => ({
      ...line,
      unitPrice: amountFor(actor, unitMicros),
      price: amountFor(actor, priceMicros),
    })),
    currency: (await findBalance(tx, { accountId }))?.currency ?? 'EUR',
    problems: problems.map(({ field, message }) => ({ field, message })),
  };
}

function ratesOf(history: readonly ChannelHistory[], chain: readonly Channel[]): DeliveryRates {
  const known = chain.flatMap((channel) => {
    const { delivered = 0, failed = 0 } = history.find((row) => row.channel === bitOf(channel)) ?? {};
    const ended = delivered + failed;
    return ended < ENOUGH_MESSAGES ? [] : [[channel, delivered / ended] as const];
  });
  return Object.fromEntries(known);
}
