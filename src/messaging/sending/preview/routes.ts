import type { FastifyRequest } from 'fastify';
import { tenant } from '../../../platform/db/tenant.ts';
import { assertScope, requireAnyScope } from '../../../platform/http/auth.ts';
import type { PlatformDeps, App } from '../../../platform/http/app.ts';
import { CHANNELS } from '../../../platform/lib/channel.ts';
import type { Lookups } from '../prepare.ts';
import { idempotentHandler } from '../../../platform/http/idempotency.ts';
import { PreviewIn, PreviewOut } from './schema.ts';
import { previewMessage } from './preview.ts';
import { withExamples } from '../../../platform/http/schema.ts';

export type PreviewRouteDeps = PlatformDeps & {
  /** Routes, prices and senders in memory. */
  readonly tables: Lookups;
};

/** Registers the route that previews a single message: its parts, its price and the reasons for a rejection. */
export function previewRoutes(app: App, deps: PreviewRouteDeps): void {
  const { pool, tables } = deps;

  app.post('/api/partner-gateway/v1/messages/preview', {
    onRequest: requireAnyScope(CHANNELS, 'read'),
    schema: {
      tags: ['Sending'],
      operationId: 'previewMessage',
      summary: 'Preview a message',
      description:
        'The text of the message, its parts and its price. Nothing is sent, stored or charged. `problems` lists the ' +
        'reasons for which a send would be rejected, except for omitted fields. Requires the scope of the channel.',
      body: withExamples(PreviewIn, {
        channel: 'SMS',
        destination: '+393331234567',
        sender: 'ACME',
        text: 'Your parcel arrives today',
      }),
      response: { 200: PreviewOut },
    },
    handler: idempotentHandler(deps, (request: FastifyRequest<{ Body: PreviewIn }>) => {
      const { actor, body } = request;
      assertScope(request, body.channel, 'read');
      return previewMessage({ db: tenant(pool, actor), tables }, actor, body);
    }),
  });
}
