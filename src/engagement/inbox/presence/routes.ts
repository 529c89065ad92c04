import { Type } from 'typebox';
import { tenant } from '../../../platform/db/tenant.ts';
import { AppError } from '../../../platform/errors.ts';
import type { App, PlatformDeps } from '../../../platform/http/app.ts';
import { requireScope } from '../../../platform/http/auth.ts';
import { withExamples } from '../../../platform/http/schema.ts';
import { ChatId } from '../schema.ts';
import { findEndpoints } from '../sql.ts';
import { ACTIVITIES, type Presence } from './presence.ts';

const PresenceIn = Type.Object({ activity: Type.Enum([...ACTIVITIES], { type: 'string' }) });

/** Registers the route by which a user reports viewing a conversation or typing in it. */
export function presenceRoutes(app: App, { pool, presence }: PlatformDeps & { readonly presence: Presence }): void {
  app.put('/api/partner-gateway/v1/inbox/conversations/:chatId/presence', {
    onRequest: requireScope('inbox'),
    schema: {
      tags: ['Inbox'],
      operationId: 'reportPresence',
      summary: 'Report viewing/typing presence',
      description:
        'Their streams get the event `presence`. It is stored nowhere and counts for 25 seconds, so report it again ' +
        'every ten. Keys have no name, so what they report is not shown.',
      params: ChatId,
      body: withExamples(PresenceIn, { activity: 'TYPING' }),
      response: { 204: Type.Null({ description: 'Passed on' }) },
    },
    handler: async ({ actor, params: { chatId }, body: { activity } }, reply) => {
      const { accountId, username, kind } = actor;
      if (!(await findEndpoints(tenant(pool, actor), { accountId, chatId }))) throw new AppError('not_found');
      if (username !== null && kind !== 'key') await presence.report({ accountId, chatId, username, activity });
      return reply.code(204).send(null);
    },
  });
}
