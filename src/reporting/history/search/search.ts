import { listRecordsById, type MessageRecord } from '../../../messaging/tracking/sql.ts';
import { toStatusRecord } from '../../../messaging/tracking/status.ts';
import type { Db } from '../../../platform/db/query.ts';
import type { Actor } from '../../../platform/lib/actor.ts';
import { isUuid, timeOfId } from '../../../platform/lib/ids.ts';
import { DAY_MS } from '../../../platform/lib/time.ts';
import { idRangeOf } from '../list.ts';
import { readTimes } from '../read-times.ts';
import type { SearchOut, SearchQuery } from './schema.ts';
import { findScanEnd, listFoundIds, listTexts, type MessageText, type SearchFilter } from './sql.ts';

const WEEK_MS = 7 * DAY_MS;
/** Number of messages that one call examines. With the status, each message takes a second lookup. */
const MAX_SCANNED = 50_000;
const MAX_SCANNED_WITH_STATUS = 10_000;

type Of = Pick<Actor, 'accountId' | 'operations'>;
type Times = { readonly from: Date; readonly to: Date };

/**
 * Searches the messages of all channels, newest first. Each call examines a limited part of the range, so that none is
 * slow, and returns the point at which the next one continues. Errors: 400 for dates that do not exist.
 */
export async function searchMessages(db: Db, actor: Of, query: SearchQuery, now: Date): Promise<SearchOut> {
  const { accountId } = actor;
  const times = rangeOf(query, now);
  if (query.q !== undefined && isUuid(query.q.trim()))
    return {
      data: await recordsOf(db, actor, [query.q.trim().toLowerCase()]),
      next: null,
      searchedTo: iso(times.from),
    };
  const filter = toFilter(accountId, query, times);
  if (filter.firstId >= filter.endId) return { data: [], next: null, searchedTo: iso(times.from) };
  const scan = query.status === undefined ? MAX_SCANNED : MAX_SCANNED_WITH_STATUS;
  const ids = await listFoundIds(db, { ...filter, scan, limit: query.limit });
  const full = ids.length === query.limit;
  const next = (full ? ids.at(-1) : await findScanEnd(db, { ...filter, scan })) ?? null;
  const searchedTo = next === null ? times.from : timeOfId(next);
  return { data: await recordsOf(db, actor, ids), next, searchedTo: iso(searchedTo) };
}

const iso = (date: Date): string => date.toISOString();

function rangeOf({ from, to }: SearchQuery, now: Date): Times {
  const times = readTimes({ from: from ?? iso(now), to: to ?? iso(now) });
  return from === undefined ? { ...times, from: new Date(times.to.getTime() - WEEK_MS) } : times;
}

function toFilter(accountId: number, query: SearchQuery, { from, to }: Times): SearchFilter {
  const { channel, status, destination, sender, campaignId, source, q, before } = query;
  const { firstId, endId } = idRangeOf(from, to);
  const until = before !== undefined && before.toLowerCase() < endId ? before.toLowerCase() : endId;
  return {
    accountId,
    firstId,
    endId: until,
    channel,
    status,
    sender,
    campaignId,
    source,
    ...(destination !== undefined && { digits: digitsOf(destination) }),
    ...(q !== undefined && { term: { reference: q.trim(), digits: digitsInNumber(q) } }),
  };
}

const digitsOf = (text: string): string => text.replace(/\D/g, '').replace(/^00/, '');

const NUMBER = /^[+0-9 ().\-/]{3,30}$/;
const digitsInNumber = (term: string): string | null => (NUMBER.test(term.trim()) ? digitsOf(term) || null : null);

async function recordsOf(db: Db, actor: Of, ids: readonly string[]): Promise<SearchOut['data']> {
  const { accountId } = actor;
  if (ids.length === 0) return [];
  const [records, texts] = [await listRecordsById(db, { accountId, ids }), await listTexts(db, { accountId, ids })];
  const textOf = new Map(texts.map((text) => [text.id, text]));
  // Ids sort by time.
  return records
    .sort((a, b) => (a.id < b.id ? 1 : -1))
    .flatMap((record) => toFound(record, textOf.get(record.id), actor) ?? []);
}

const toFound = (
  record: MessageRecord,
  text: MessageText | undefined,
  actor: Of,
): SearchOut['data'][number] | undefined =>
  text && {
    ...toStatusRecord(record, actor),
    acceptedAt: iso(timeOfId(record.id)),
    readAt: record.readAt?.toISOString() ?? null,
    source: text.source,
    simulation: text.simulation,
    text: text.body,
  };
