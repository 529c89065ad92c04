import { Type } from 'typebox';
import { STATUS_NAMES } from '../../messaging/states.ts';
import { StatusRecord } from '../../messaging/tracking/schema.ts';
import { toStatusRecord } from '../../messaging/tracking/status.ts';
import type { Db } from '../../platform/db/query.ts';
import { tenant } from '../../platform/db/tenant.ts';
import type { App, PlatformDeps } from '../../platform/http/app.ts';
import { requireScope } from '../../platform/http/auth.ts';
import { pageFields } from '../../platform/http/page.ts';
import { AGE_OF_REPORT, readReport } from '../../platform/http/report.ts';
import { instantField } from '../../platform/lib/instant.ts';
import { channelName } from '../../platform/lib/schema.ts';
import { MINUTE_MS } from '../../platform/lib/time.ts';
import { createHistoryReader } from './list.ts';
import { readTimes } from './read-times.ts';
import { SearchOut, SearchQuery } from './search/schema.ts';
import { searchMessages } from './search/search.ts';

const RECENT_MS = 5 * MINUTE_MS;

const HistoryQuery = Type.Object({
  ...pageFields,
  channel: channelName(),
  from: instantField('The earliest time of acceptance.'),
  to: instantField('The latest time of acceptance, inclusive.'),
  status: Type.Optional(Type.Enum([...STATUS_NAMES], { type: 'string', description: 'As in `deliveryStatus`.' })),
  limit: Type.Integer({ minimum: 1, maximum: 1000, default: 20, description: 'Entries per page.' }),
});

/** Registers the routes that list and search messages. */
export function historyRoutes(app: App, { pool, reports, clock }: PlatformDeps): void {
  const readHistory = createHistoryReader();

  app.get('/api/partner-gateway/v1/messages/history', {
    onRequest: requireScope('tracking'),
    schema: {
      tags: ['Tracking'],
      operationId: 'listMessageHistory',
      summary: 'List the messages of a channel in a time range, newest first',
      description:
        'The range is the time of acceptance. With `from` after `to` the list is empty. ' +
        `For a range that ended more than five minutes ago: ${AGE_OF_REPORT}`,
      querystring: HistoryQuery,
      response: { 200: Type.Array(StatusRecord) },
    },
    handler: async ({ actor, query }, reply) => {
      const { from, to } = query;
      const now = clock.now();
      const page = { ...query, ...readTimes({ from, to }) };
      const read = (db: Db) => readHistory(db, actor, page, now);
      // A caller that requests the last minutes wants to see what was just sent.
      const isPast = page.to.getTime() < now.getTime() - RECENT_MS;
      const records = await (isPast ? readReport({ reports, actor, reply }, read) : read(tenant(pool, actor)));
      return records.map((record) => toStatusRecord(record, actor));
    },
  });

  app.get('/api/partner-gateway/v1/messages', {
    onRequest: requireScope('tracking'),
    schema: {
      tags: ['Tracking'],
      operationId: 'searchMessages',
      summary: 'Search the messages of all channels, newest first',
      description:
        'Each response covers a limited number of messages: with filters that rarely match, `data` may be short or empty ' +
        'although `next` is set. `searchedTo` is the time back to which it has searched.',
      querystring: SearchQuery,
      response: { 200: SearchOut },
    },
    handler: ({ actor, query }) => searchMessages(tenant(pool, actor), actor, query, clock.now()),
  });
}
