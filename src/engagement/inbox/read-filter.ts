import { invalidFields } from '../../platform/errors.ts';
import { CHANNELS } from '../../platform/lib/channel.ts';
import { parseInstant } from '../../platform/lib/instant.ts';
import type { ConversationQuery } from './schema.ts';
import { CONVERSATION_ORDERS, type ConversationFilter, type ConversationOrder } from './listing/sql.ts';

const DAY = /^\d{4}-\d{2}-\d{2}$/;

/** Reads the filter of a list of conversations. Errors: 400 when `dateFrom` is not a date. */
export function readFilter(accountId: number, query: ConversationQuery): ConversationFilter {
  const { archived, snoozed, labelId, unreadOnly, dateFrom, channelIds, assignee, search } = query;
  const named = channelIds?.flatMap((list) => list.split(','));
  const channels = named && CHANNELS.filter((channel) => named.includes(channel));
  const assigneeId = assignee === undefined || assignee === 'none' ? assignee : Number(assignee);
  return {
    accountId,
    archived,
    snoozed,
    labelId,
    unreadOnly,
    channels,
    assigneeId,
    search,
    since: readSince(dateFrom),
  };
}

function readSince(dateFrom: string | undefined): Date | undefined {
  if (dateFrom === undefined) return undefined;
  const since = parseInstant(DAY.test(dateFrom) ? `${dateFrom}T00:00:00Z` : dateFrom);
  if (since === null)
    throw invalidFields([{ field: 'dateFrom', message: 'must be yyyy-MM-dd, or ISO 8601 with an offset' }]);
  // Responses have whole milliseconds, and conversations updated after one of them are wanted.
  return new Date(since.getTime() + 1);
}

/** Reads an order such as `-lastMessageDate`. Without a sign it is ascending. The schema has checked the name. */
export function readOrder(orderBy: string): ConversationOrder {
  const by = CONVERSATION_ORDERS.find((name) => orderBy.endsWith(name)) ?? 'lastMessageDate';
  return { by, descending: orderBy.startsWith('-') };
}
