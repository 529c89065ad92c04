import { Type } from 'typebox';
import { tenant } from '../db/tenant.ts';
import { requireScope } from '../http/auth.ts';
import type { ApiDeps, App } from '../http/deps.ts';
import { pageFields } from '../http/page.ts';
import { StatusRecord } from '../tracking/schema.ts';
import { toStatusRecord } from '../tracking/status.ts';
import { createHistory } from './list.ts';
import { readTimes } from './read-times.ts';
import { historyFields } from './schema.ts';

/** Contract 5: what was sent, page by page. */
export function historyRoutes(app: App, { pool, clock }: ApiDeps): void {
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
}
