import { isDeepStrictEqual } from 'node:util';
import { recordAudit, systemAuthor } from '../accounts/audit.ts';
import { type Db, exec, maybeOne, sql } from '../core/db/query.ts';
import { moveChunksToParked } from '../dispatch/store.ts';
import { listPricesToMany } from '../messages/billing.ts';
import type { ListedPrice } from '../money/pricing.ts';
import type { TemplateKey } from '../templates/sync.ts';
import { type Job, moveToPausedFor, NOTHING_TO_DO, type Step } from './run.ts';

/**
 * Pauses a confirmed campaign whose WhatsApp template is in another category than at its confirmation, if that costs
 * more now, until a person resumes it: it is then sent at the price of its confirmation, which the operator bears.
 * Returns 0 when it did.
 */
export async function pauseDearer({ tx, job, campaign }: Step): Promise<number> {
  const { pricedCategory, whatsappCategory: category, prices } = campaign;
  if (pricedCategory === null || category === null || pricedCategory === category) return NOTHING_TO_DO;
  await updatePricedCategory(tx, job, { category });
  const now = await listPricesToMany(tx, { ...campaign, at: null });
  if (!isDearer(prices, now)) return NOTHING_TO_DO;
  const reason = `whatsappTemplateId ${campaign.whatsappTemplateId}: its category is ${category} and no longer ${pricedCategory}, which costs more`;
  await moveToPausedFor(tx, job, { reason });
  await moveChunksToParked(tx, job);
  const event = { action: 'campaign.pause', subject: `campaign:${campaign.id}`, detail: { reason } };
  await recordAudit(tx, systemAuthor(campaign.accountId), event);
  return 0;
}

/** Returns true if any price on WhatsApp is higher than before, or gone. */
function isDearer(before: readonly ListedPrice[], now: readonly ListedPrice[]): boolean {
  const pricesNow = new Map(now.map((price) => [`${price.channel}/${price.prefix}`, price.unitMicros]));
  return before.some(
    ({ channel, prefix, unitMicros }) =>
      channel === 'WHATSAPP' && (pricesNow.get(`${channel}/${prefix}`) ?? Number.POSITIVE_INFINITY) > unitMicros,
  );
}

const updatePricedCategory = (
  db: Db,
  { accountId, campaignId }: Job,
  { category }: { category: string },
): Promise<number> =>
  exec(
    db,
    sql`UPDATE campaign SET audience = jsonb_set(audience, '{whatsappCategory}', to_jsonb(${category}::text))
        WHERE account_id = ${accountId} AND id = ${campaignId}`,
  );

type Priced = Omit<Parameters<typeof listPricesToMany>[1], 'at'> & {
  readonly id: number;
  readonly scheduledAt?: Date | null;
};

/** Returns true if the prices on the date of a campaign are those for which its goal was calculated. */
export async function hasPricesOfGoal(db: Db, { id, scheduledAt = null, ...campaign }: Priced): Promise<boolean> {
  const goal = await maybeOne<{ prices: unknown }>(
    db,
    sql`SELECT audience -> 'prices' AS prices FROM campaign WHERE account_id = ${campaign.accountId} AND id = ${id}`,
  );
  const prices = await listPricesToMany(db, { ...campaign, at: scheduledAt });
  return isDeepStrictEqual(goal?.prices, JSON.parse(JSON.stringify(prices)));
}

/** Makes the audiences of campaigns that are not confirmed stale, if one of these templates is in another category now. */
export async function endAudiencesOfOtherCategory(tx: Db, templates: readonly TemplateKey[]): Promise<void> {
  const ids = templates.flatMap(({ channel, id }) => (channel === 'WHATSAPP' ? [id] : []));
  if (ids.length === 0) return;
  await exec(
    tx,
    sql`UPDATE campaign c SET audience_version = NULL FROM template t
        WHERE t.channel = 'WHATSAPP' AND t.id = ANY(${ids}::text[]) AND c.whatsapp_template_id = t.id
          AND c.confirmed_at IS NULL AND c.audience ->> 'whatsappCategory' <> lower(t.category)`,
  );
}
