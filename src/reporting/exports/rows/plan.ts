import { findCampaign } from '../../../engagement/campaigns/sql.ts';
import { listFields } from '../../../engagement/contacts/fields/sql.ts';
import type { Db } from '../../../platform/db/query.ts';
import { idRangeOf } from '../../history/list.ts';
import type { ReportFilters, ExportRequest } from '../filters.ts';
import type { RowQuery } from './cells.ts';
import { contactRows, messageRows } from './sql.ts';

/** Builds the query for the rows of an export. A campaign that has been deleted since has no rows. */
export async function planRows(db: Db, accountId: number, request: ExportRequest, now: Date): Promise<RowQuery> {
  if (request.type === 'CONTACTS')
    return contactRows({ accountId, ...request.filters }, await listFields(db, { accountId }));
  if (request.type === 'DELIVERY_REPORTS')
    return messageRows({ accountId, ...(await spanOf(db, accountId, request.filters, now)) }, { reports: true });
  const { startDateTime, endDateTime, ...others } = request.filters;
  const span = idRangeOf(new Date(startDateTime), new Date(endDateTime));
  return messageRows({ accountId, ...span, ...others }, { reports: false });
}

async function spanOf(db: Db, accountId: number, filters: ReportFilters, now: Date) {
  if (!('campaignId' in filters)) return idRangeOf(new Date(filters.startDateTime), new Date(filters.endDateTime));
  const { campaignId } = filters;
  const campaign = await findCampaign(db, { accountId, id: campaignId });
  return { campaignId, ...idRangeOf(campaign?.createdAt ?? now, campaign?.completedAt ?? now) };
}
