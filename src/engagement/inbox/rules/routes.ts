import { Type } from 'typebox';
import { tenant, tenantTransaction } from '../../../platform/db/tenant.ts';
import type { App, PlatformDeps } from '../../../platform/http/app.ts';
import { requireScope } from '../../../platform/http/auth.ts';
import { withExamples } from '../../../platform/http/schema.ts';
import { changeSettings, setAvailable } from './change.ts';
import { Availability, InboxSettings } from './schema.ts';
import { findSettings, isAvailable } from './sql.ts';

const INBOX = '/api/partner-gateway/v1/inbox';
const tags = ['Inbox'];
const DEFAULTS: InboxSettings = { assignment: 'MANUAL', closedAnswer: null, timeZone: 'UTC', openHours: [] };

/** Registers the routes for the rules of an inbox: assignment, opening hours, and the availability of users. */
export function ruleRoutes(app: App, { pool }: PlatformDeps): void {
  app.get(`${INBOX}/settings`, {
    onRequest: requireScope('inbox'),
    schema: {
      tags,
      operationId: 'findInboxSettings',
      summary: 'Get the settings of the inbox',
      description:
        'How conversations are assigned, when the account is open, and its automatic answer while it is closed.',
      response: { 200: InboxSettings },
    },
    handler: async ({ actor }) => {
      const row = await findSettings(tenant(pool, actor), { accountId: actor.accountId });
      if (!row) return DEFAULTS;
      const { accountId: _, ...settings } = row;
      return settings;
    },
  });

  app.put(`${INBOX}/settings`, {
    // As for keyword rules: changing them makes the account answer automatically.
    onRequest: [requireScope('inbox'), requireScope('webhooks')],
    schema: {
      tags,
      operationId: 'changeInboxSettings',
      summary: 'Change the settings of the inbox',
      description: 'Replaces all of them. Also needs the scope `webhooks`.',
      body: withExamples(InboxSettings, {
        assignment: 'ROUND_ROBIN',
        closedAnswer: 'We are closed now and answer from 9 on.',
        timeZone: 'Europe/Rome',
        openHours: [{ weekday: 1, from: 540, to: 1080 }],
      }),
      response: { 200: InboxSettings },
    },
    handler: ({ actor, body }) => tenantTransaction(pool, actor, (tx) => changeSettings(tx, actor, body)),
  });

  app.get(`${INBOX}/availability`, {
    onRequest: requireScope('inbox'),
    schema: {
      tags,
      operationId: 'findAvailability',
      summary: 'Get your availability for new conversations',
      response: { 200: Availability },
    },
    handler: async ({ actor: { accountId, userId }, actor }) => ({
      available: userId !== null && (await isAvailable(tenant(pool, actor), { accountId, userId })),
    }),
  });

  app.put(`${INBOX}/availability`, {
    onRequest: requireScope('inbox'),
    schema: {
      tags,
      operationId: 'changeAvailability',
      summary: 'Set your availability for new conversations',
      description: 'For users of the account who may reply; others and API keys get 403.',
      body: withExamples(Availability, { available: true }),
      response: { 204: Type.Null({ description: 'Done' }) },
    },
    handler: async ({ actor, body }, reply) => {
      await tenantTransaction(pool, actor, (tx) => setAvailable(tx, actor, body.available));
      return reply.code(204).send(null);
    },
  });
}
