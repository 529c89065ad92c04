import type { FastifyRequest } from 'fastify';
import { tenant } from '../../../platform/db/tenant.ts';
import { demandScope } from '../../../platform/http/auth.ts';
import type { ApiDeps, App } from '../../../platform/http/deps.ts';
import { keeping } from '../../../platform/http/idempotency.ts';
import { PreviewIn, PreviewOut } from './schema.ts';
import { previewMessage } from './preview.ts';

/** What a single send would be, while it is being written. */
export function previewRoutes(app: App, deps: ApiDeps): void {
  const { pool, tables } = deps;

  app.post('/api/partner-gateway/v1/messages/preview', {
    schema: {
      tags: ['Sending'],
      operationId: 'previewMessage',
      summary: 'What a message would say, how many parts it would have and what it would cost',
      description:
        'Nothing is sent, stored or charged. What a send would be refused for stands in `problems`, as far as the fields ' +
        'are there. Needs the scope of the channel.',
      body: PreviewIn,
      response: { 200: PreviewOut },
    },
    handler: keeping(deps, (request: FastifyRequest<{ Body: PreviewIn }>) => {
      const { actor, body } = request;
      demandScope(request, body.channel);
      return previewMessage({ db: tenant(pool, actor), tables }, actor, body);
    }),
  });
}
