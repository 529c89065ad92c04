import { findCampaign } from '../../../engagement/campaigns/sql.ts';
import { listFields } from '../../../engagement/contacts/fields/sql.ts';
import type { Db } from '../../../platform/db/query.ts';
import { idsFrom } from '../../history/list.ts';
import type { ReportFilters, Wanted } from '../filters.ts';
import type { Rows } from './cells.ts';
import { contactRows, messageRows } from './sql.ts';

/** The rows that an export is of. A campaign that was deleted meanwhile has none. */
export async function planRows(db: Db, accountId: number, wanted: Wanted, now: Date): Promise<Rows> {
  if (wanted.type === 'CONTACTS')
    return contactRows({ accountId, ...wanted.filters }, await listFields(db, { accountId }));
  if (wanted.type === 'DELIVERY_REPORTS')
    return messageRows({ accountId, ...(await spanOf(db, accountId, wanted.filters, now)) }, { reports: true });
  const { startDateTime, endDateTime, ...others } = wanted.filters;
  const span = idsFrom(new Date(startDateTime), new Date(endDateTime));
  return messageRows({ accountId, ...span, ...others }, { reports: false });
}

async function spanOf(db: Db, accountId: number, filters: ReportFilters, now: Date) {
  if (!('campaignId' in filters)) return idsFrom(new Date(filters.startDateTime), new Date(filters.endDateTime));
  const { campaignId } = filters;
  const campaign = await findCampaign(db, { accountId, id: campaignId });
  return { campaignId, ...idsFrom(campaign?.createdAt ?? now, campaign?.completedAt ?? now) };
}
