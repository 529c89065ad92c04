import type { FastifyRequest } from 'fastify';
import { tenant } from '../../../platform/db/tenant.ts';
import { demandScope } from '../../../platform/http/auth.ts';
import type { PlatformDeps, App } from '../../../platform/http/app.ts';
import type { Tables } from '../prepare.ts';
import { keeping } from '../../../platform/http/idempotency.ts';
import { PreviewIn, PreviewOut } from './schema.ts';
import { previewMessage } from './preview.ts';

export type PreviewRouteDeps = PlatformDeps & {
  /** Routes, prices and senders in memory. */
  readonly tables: Tables;
};

/** Contract 7: previews of a single message: its parts, its price and what it would be refused for. */
export function previewRoutes(app: App, deps: PreviewRouteDeps): void {
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
