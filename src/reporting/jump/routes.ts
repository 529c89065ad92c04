import { tenantTransaction } from '../../platform/db/tenant.ts';
import type { App, PlatformDeps } from '../../platform/http/app.ts';
import { requireAnyScope } from '../../platform/http/auth.ts';
import { findByText } from './find.ts';
import { JumpOut, JumpQuery } from './schema.ts';

/** Registers the route behind the search of the whole console. */
export function jumpRoutes(app: App, { pool }: PlatformDeps): void {
  app.get('/api/partner-gateway/v1/search', {
    onRequest: requireAnyScope(['tracking', 'contacts', 'campaigns'], 'read'),
    schema: {
      tags: ['Tracking'],
      operationId: 'findByText',
      summary: 'Find a message, contacts and campaigns by one text',
      description:
        'Meant to be called while a user types: it reads indexes up to small limits. Results that the scopes of the caller ' +
        'do not cover are omitted. To search thoroughly, use the lists of messages, contacts and campaigns.',
      querystring: JumpQuery,
      response: { 200: JumpOut },
    },
    handler: ({ actor, query }) => tenantTransaction(pool, actor, (tx) => findByText(tx, actor, query.q)),
  });
}
