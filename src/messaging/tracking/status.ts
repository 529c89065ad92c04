import type { Db } from '../../platform/db/query.ts';
import type { Channel } from '../../platform/lib/channel.ts';
import { isUuid, timeOfId } from '../../platform/lib/ids.ts';
import { formatScheduledDate } from '../../platform/lib/scheduled-date.ts';
import { amountFor, type AmountReader } from '../../platform/lib/amounts.ts';
import type { NetworkStatus, SimpleStatus, StatusRecord } from './schema.ts';
import { describeStatus, isFinal, nameOfStatus, STATUS, type StatusName } from '../states.ts';
import * as db from './sql.ts';

/**
 * Finds messages of one account by our ids and by the client's. Unknown ids and those of other accounts are omitted. A
 * client id that was used again gives its newest message.
 */
export async function findRecords(
  pool: Db,
  { accountId }: { readonly accountId: number },
  { ids, clientIds }: { readonly ids: readonly string[]; readonly clientIds: readonly string[] },
): Promise<db.MessageRecord[]> {
  const named = clientIds.length > 0 ? await db.listMessageIdsByClientId(pool, { accountId, clientIds }) : [];
  const all = [...new Set([...ids.filter(isUuid).map((id) => id.toLowerCase()), ...named.map((row) => row.messageId)])];
  return all.length > 0 ? db.listRecordsById(pool, { accountId, ids: all }) : [];
}

/** Finds one message by the client's id or, when no message has that, by ours. */
export async function findRecord(
  pool: Db,
  actor: { readonly accountId: number },
  id: string,
): Promise<db.MessageRecord | undefined> {
  const [byClientId] = await findRecords(pool, actor, { ids: [], clientIds: [id] });
  if (byClientId || !isUuid(id)) return byClientId;
  const [byId] = await findRecords(pool, actor, { ids: [id], clientIds: [] });
  return byId;
}

/**
 * Returns the status. A message without a state is still queued: its status is ACCEPTED on SMS and UNKNOWN elsewhere
 * (specification).
 */
export function statusOf({ status, channel }: db.MessageRecord): StatusName {
  if (status !== null && (status !== STATUS.ACCEPTED || channel === 'SMS')) return nameOfStatus(status);
  return channel === 'SMS' ? 'ACCEPTED' : 'UNKNOWN';
}

/** Returns the status of a message in the specification's form, as this caller may see it. */
export function toStatusRecord(record: db.MessageRecord, reader: AmountReader): StatusRecord {
  const name = statusOf(record);
  const final = isFinal(STATUS[name]);
  return {
    messageId: record.id,
    customerMessageId: record.clientId,
    channel: record.channel,
    destination: record.destination,
    sender: record.sender,
    deliveryStatus: name,
    deliveryStatusCode: STATUS[name],
    deliveryStatusDescription: describeStatus(name),
    stage: stageOf(record, final),
    sendDate: (record.submittedAt ?? record.scheduledAt ?? timeOfId(record.id)).toISOString(),
    scheduledDate: record.scheduledAt && formatScheduledDate(record.scheduledAt),
    deliveryDate: final && record.doneAt ? record.doneAt.toISOString() : null,
    parts: record.parts,
    price: amountFor(reader, record.costMicros),
    campaignId: record.campaignId,
    possibleDuplicate: record.possibleDuplicate ?? false,
    errorCode: record.errorCode,
    errorMessage: record.errorText,
  };
}

function stageOf({ submittedAt, isScheduled }: db.MessageRecord, final: boolean): StatusRecord['stage'] {
  if (final) return 'FINAL';
  if (submittedAt !== null) return 'SUBMITTED';
  return isScheduled ? 'SCHEDULED' : 'QUEUED';
}

const SIMPLE: Partial<Record<StatusName, SimpleStatus['status']>> = {
  ACCEPTED: 'SENT',
  DELIVERED: 'DELIVERED',
  EXPIRED: 'EXPIRED',
  UNKNOWN: 'UNKNOWN',
};

/** Returns the status of a message on any channel; before its first outcome it counts as ACCEPTED. */
const plainStatusOf = ({ status }: db.MessageRecord): StatusName => nameOfStatus(status ?? STATUS.ACCEPTED);

const reachedAt = ({ id, doneAt, updatedAt }: db.MessageRecord): string =>
  (doneAt ?? updatedAt ?? timeOfId(id)).toISOString();

/** Returns the status of a message in the short form, where all failures but EXPIRED are ERROR. */
export function toSimpleStatus(record: db.MessageRecord): SimpleStatus {
  return {
    messageId: record.id,
    customerMessageId: record.clientId,
    status: SIMPLE[plainStatusOf(record)] ?? 'ERROR',
    channel: record.channel,
    timestamp: reachedAt(record),
  };
}

/**
 * Finds the status of a message by our id, as its network names it. Undefined when that channel has no such message.
 */
export async function findNetworkStatus(
  pool: Db,
  actor: { readonly accountId: number },
  { id, channel }: { readonly id: string; readonly channel: Channel },
): Promise<NetworkStatus | undefined> {
  const [record] = await findRecords(pool, actor, { ids: [id], clientIds: [] });
  if (record?.channel !== channel) return undefined;
  const held = record.status === STATUS.ACCEPTED ? await db.findHold(pool, { ...actor, id: record.id }) : undefined;
  return held === undefined ? toNetworkStatus(record) : { ...toNetworkStatus(record), status: 'RECEIVED' };
}

/** Returns the status of a message as its network names it, the time of that status, and the error if there is one. */
export function toNetworkStatus(record: db.MessageRecord): NetworkStatus {
  const name = plainStatusOf(record);
  const status = SIMPLE[name] ?? 'ERROR';
  const failed = status === 'ERROR' || status === 'EXPIRED';
  return {
    messageId: record.id,
    status: record.readAt ? 'READ' : status,
    timestamp: record.readAt?.toISOString() ?? reachedAt(record),
    error: failed ? (record.errorText ?? describeStatus(name)) : null,
  };
}
