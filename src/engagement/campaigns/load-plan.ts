import { findBook } from '../contacts/book/sql.ts';
import { listFields } from '../contacts/fields/sql.ts';
import type { Db } from '../../platform/db/query.ts';
import { listPrices } from '../../money/pricing/sql.ts';
import { chainOf } from './mode.ts';
import { type CampaignRow, listListVersions } from './sql.ts';
import { parseText } from './text/parse.ts';
import type { Plan, PlanPrice } from './audience/sql.ts';

type Planned = Pick<CampaignRow, 'id' | 'sendingMode' | 'destinationType' | 'contactListIds' | 'smsBody'>;

/** Number of recipients that a step creates. It takes some 100 ms with these, so that a pause takes effect quickly. */
export const RECIPIENTS_PER_STEP = 5000;

/**
 * Loads the data that decides the recipients of a campaign. `prices` are those of its goal once it is confirmed; if
 * they are omitted, the current price list is used.
 */
export async function loadPlan(
  db: Db,
  { accountId, campaign, prices }: { accountId: number; campaign: Planned; prices?: readonly PlanPrice[] },
): Promise<Plan> {
  const listIds = campaign.destinationType === 2 ? null : campaign.contactListIds;
  const fields = await listFields(db, { accountId });
  const hasSms = chainOf(campaign.sendingMode).includes('SMS');
  return {
    accountId,
    campaignId: campaign.id,
    mode: campaign.sendingMode,
    listIds,
    pieces: hasSms ? parseText(campaign.smsBody ?? '', fields).pieces : null,
    walk: listIds !== null && (await isWalkShorter(db, accountId, listIds)),
    prices: prices ?? (await listPrices(db)),
  };
}

/**
 * Returns true if walking along all contacts once is less work than sorting the members of the lists again in each
 * step.
 */
async function isWalkShorter(db: Db, accountId: number, ids: readonly number[]): Promise<boolean> {
  const [book, lists] = [await findBook(db, { accountId }), await listListVersions(db, { accountId, ids })];
  const members = lists.reduce((sum, { contactCount }) => sum + contactCount, 0);
  return members * Math.ceil(members / RECIPIENTS_PER_STEP) > (book?.contacts ?? 0);
}
