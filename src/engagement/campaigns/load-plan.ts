import { findBook } from '../contacts/book/sql.ts';
import { listFields } from '../contacts/fields/sql.ts';
import type { Db } from '../../platform/db/query.ts';
import { listPrices } from '../../money/pricing/sql.ts';
import { chainOf } from './mode.ts';
import { type CampaignRow, listListVersions } from './sql.ts';
import { parseText } from './text/parse.ts';
import type { Plan, PlanPrice } from './audience/sql.ts';

type Planned = Pick<CampaignRow, 'id' | 'sendingMode' | 'destinationType' | 'contactListIds' | 'smsBody'>;

/** Sorting the members again for each of the next 5,000 beats walking along all contacts up to here. */
const RECIPIENTS_PER_STEP = 5000;

/** Reads what decides whom a campaign is for. `prices`: those of its goal once it is confirmed; left out, the list as it is. */
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

async function isWalkShorter(db: Db, accountId: number, ids: readonly number[]): Promise<boolean> {
  const [book, lists] = [await findBook(db, { accountId }), await listListVersions(db, { accountId, ids })];
  const members = lists.reduce((sum, { contactCount }) => sum + contactCount, 0);
  return members * Math.ceil(members / RECIPIENTS_PER_STEP) > (book?.contacts ?? 0);
}
