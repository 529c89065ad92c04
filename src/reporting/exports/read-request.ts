import { findCampaign } from '../../engagement/campaigns/sql.ts';
import { listUnknownContacts } from '../../engagement/contacts/lists/members/sql.ts';
import { listLists } from '../../engagement/contacts/lists/sql.ts';
import type { Db } from '../../platform/db/query.ts';
import { type FieldError, invalidFields } from '../../platform/errors.ts';
import { toE164 } from '../../platform/lib/phone/phone.ts';
import { isUserId } from '../../platform/lib/phone/user-id.ts';
import { readTimes } from '../history/read-times.ts';
import type { ExportRequest } from './filters.ts';
import type { ContactsIn, HistoryIn, ReportsIn } from './schema.ts';

/** Number of unknown ids that an error message lists. */
const MAX_LISTED_IDS = 20;

/** Reads a request for the messages that were accepted in a time range. Errors: 400 naming the fields. */
export function readHistoryRequest({
  startDateTime,
  endDateTime,
  channel,
  status,
  sender,
  recipient,
}: HistoryIn): ExportRequest {
  const number = recipient === undefined ? undefined : readRecipient(recipient);
  const faults: FieldError[] =
    number === null ? [{ field: 'recipient', message: 'must be a number with its country code' }] : [];
  const span = readSpan({ startDateTime, endDateTime }, faults);
  const others = { ...(channel && { channel }), ...(status && { status }), ...(sender && { sender }) };
  return { type: 'HISTORY', filters: { ...span, ...others, ...(number && { recipient: number }) } };
}

/** Returns a number in E.164, or a user id of WhatsApp as it is; null for anything else. */
const readRecipient = (recipient: string): string | null =>
  isUserId(recipient) ? recipient : toE164(recipient.replaceAll(/[\s().-]/g, ''));

/** Reads a request for contacts. Errors: 400 listing the ids that the account does not have. */
export async function readContactsRequest(
  db: Db,
  accountId: number,
  { listIds, contactIds }: ContactsIn,
): Promise<ExportRequest> {
  if (listIds && contactIds)
    throw invalidFields([{ field: 'contactIds', message: 'must not be combined with listIds' }]);
  if (listIds) refuseUnknown('listIds', await listUnknownLists(db, accountId, listIds));
  if (contactIds) refuseUnknown('contactIds', await listUnknownContacts(db, { accountId, ids: contactIds }));
  return { type: 'CONTACTS', filters: { ...(listIds ? { listIds } : {}), ...(contactIds ? { contactIds } : {}) } };
}

/** Reads a request for delivery reports. Errors: 400, also for a campaign that the account does not have. */
export async function readReportsRequest(db: Db, accountId: number, body: ReportsIn): Promise<ExportRequest> {
  const { campaignId, startDateTime, endDateTime } = body;
  if (campaignId === undefined) {
    const missing = [
      ...(startDateTime === undefined ? ['startDateTime'] : []),
      ...(endDateTime === undefined ? ['endDateTime'] : []),
    ].map((field) => ({ field, message: 'is required (or campaignId)' }));
    if (startDateTime === undefined || endDateTime === undefined) throw invalidFields(missing);
    return { type: 'DELIVERY_REPORTS', filters: readSpan({ startDateTime, endDateTime }, []) };
  }
  if (startDateTime !== undefined || endDateTime !== undefined)
    throw invalidFields([{ field: 'campaignId', message: 'must not be combined with startDateTime or endDateTime' }]);
  if (!(await findCampaign(db, { accountId, id: campaignId })))
    throw invalidFields([{ field: 'campaignId', message: 'is not a campaign of this account' }]);
  return { type: 'DELIVERY_REPORTS', filters: { campaignId } };
}

type Span = { readonly startDateTime: string; readonly endDateTime: string };

/** Reads the two instants of a range. Errors: 400 naming their faults together with those in `faults`. */
function readSpan({ startDateTime, endDateTime }: Span, faults: FieldError[]): Span {
  const times = readTimes({ startDateTime, endDateTime });
  if (times.endDateTime < times.startDateTime)
    faults.push({ field: 'endDateTime', message: 'must not be before startDateTime' });
  if (faults.length > 0) throw invalidFields(faults);
  return { startDateTime: times.startDateTime.toISOString(), endDateTime: times.endDateTime.toISOString() };
}

async function listUnknownLists(db: Db, accountId: number, ids: readonly number[]): Promise<number[]> {
  const filter = { accountId, ids, includeDeleted: false };
  const order = { sortBy: 'id', descending: false } as const;
  const known = new Set((await listLists(db, { filter, order, limit: ids.length, offset: 0 })).map((row) => row.id));
  return ids.filter((id) => !known.has(id));
}

function refuseUnknown(field: string, ids: readonly number[]): void {
  if (ids.length === 0) return;
  const more = ids.length > MAX_LISTED_IDS ? ` and ${ids.length - MAX_LISTED_IDS} more` : '';
  throw invalidFields([{ field, message: `unknown: ${ids.slice(0, MAX_LISTED_IDS).join(', ')}${more}` }]);
}
