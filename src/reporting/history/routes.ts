import { Type } from 'typebox';
import { tenant } from '../../platform/db/tenant.ts';
import { requireScope } from '../../platform/http/auth.ts';
import type { PlatformDeps, App } from '../../platform/http/app.ts';
import { pageFields } from '../../platform/http/page.ts';
import { StatusRecord } from '../../messaging/tracking/schema.ts';
import { toStatusRecord } from '../../messaging/tracking/status.ts';
import { createHistory } from './list.ts';
import { readTimes } from './read-times.ts';
import { historyFields } from './schema.ts';
import { SearchOut, SearchQuery } from './search/schema.ts';
import { searchMessages } from './search/search.ts';

/** Contract 5: what was sent, page by page. */
export function historyRoutes(app: App, { pool, clock }: PlatformDeps): void {
  const list = createHistory();

  app.get('/api/partner-gateway/v1/messages/history', {
    onRequest: requireScope('tracking'),
    schema: {
      tags: ['Tracking'],
      operationId: 'listMessageHistory',
      summary: 'The messages of a channel that were accepted in a range of time, the newest first',
      description: 'With `from` after `to` there are none.',
      querystring: Type.Object({ ...pageFields, ...historyFields }),
      response: { 200: Type.Array(StatusRecord) },
    },
    handler: async ({ actor, query }) => {
      const { from, to } = query;
      const asked = { ...query, ...readTimes({ from, to }) };
      return (await list(tenant(pool, actor), actor, asked, clock.now())).map(toStatusRecord);
    },
  });

  app.get('/api/partner-gateway/v1/messages', {
    onRequest: requireScope('tracking'),
    schema: {
      tags: ['Tracking'],
      operationId: 'searchMessages',
      summary: 'Messages of all channels that fit, the newest first',
      description:
        'Each answer looks through a bounded number of messages: with rare filters `data` may be short, or empty, and ' +
        '`next` still lead on. `searchedTo` says how far it has come.',
      querystring: SearchQuery,
      response: { 200: SearchOut },
    },
    handler: ({ actor, query }) => searchMessages(tenant(pool, actor), actor, query, clock.now()),
  });
}
