import { Type } from 'typebox';
import { tenant } from '../../../platform/db/tenant.ts';
import type { App, PlatformDeps } from '../../../platform/http/app.ts';
import { requireScope } from '../../../platform/http/auth.ts';
import type { FindFiles } from '../answer.ts';
import { findMessages } from './find.ts';
import { FoundMessage, SearchQuery } from './schema.ts';

/** Registers the route that searches the texts of all conversations. */
export function searchRoutes(app: App, { pool, findFiles }: PlatformDeps & { readonly findFiles: FindFiles }): void {
  app.get('/api/partner-gateway/v1/inbox/messages', {
    onRequest: requireScope('inbox'),
    schema: {
      tags: ['Inbox'],
      operationId: 'searchInboxMessages',
      summary: 'Search the texts of all conversations',
      description: 'The newest messages with these words, each with its conversation, including archived ones.',
      querystring: SearchQuery,
      response: { 200: Type.Array(FoundMessage) },
    },
    handler: ({ actor, query }) => findMessages(tenant(pool, actor), findFiles, actor, query),
  });
}
