import { tenant } from '../../platform/db/tenant.ts';
import type { Db } from '../../platform/db/query.ts';
import { requireScope } from '../../platform/http/auth.ts';
import type { PlatformDeps, App } from '../../platform/http/app.ts';
import { idempotentTx } from '../../platform/http/idempotency.ts';
import { offsetOf, PageOf, pageOf, PageQuery, type PageRequest } from '../../platform/http/page.ts';
import { requestAgent } from './request-agent.ts';
import * as schema from './schema.ts';
import { countUsableSenders, listUsableSenders, type Sender } from './sql.ts';
import type { SenderChannel } from '../connections/kinds/kind.ts';
import { withExamples } from '../../platform/http/schema.ts';

const MS = '/api/message-server';

/** Registers the routes of the senders that an account may use on WhatsApp and RCS. */
export function senderRoutes(app: App, deps: PlatformDeps): void {
  const { pool } = deps;

  app.get(`${MS}/whatsapp/phone-numbers`, {
    onRequest: requireScope('WHATSAPP'),
    schema: {
      tags: ['WhatsApp'],
      operationId: 'listWhatsappPhoneNumbers',
      summary: 'List the phone numbers for WhatsApp',
      querystring: PageQuery,
      response: { 200: PageOf(schema.PhoneNumberOut) },
    },
    handler: ({ actor, query }) =>
      answerPage(tenant(pool, actor), { ...actor, channel: 'WHATSAPP' }, query, schema.toPhoneNumberOut),
  });

  app.get(`${MS}/rcs/agents`, {
    onRequest: requireScope('RCS'),
    schema: {
      tags: ['RCS'],
      operationId: 'listRcsAgents',
      summary: 'List the agents for RCS, including requested ones',
      querystring: PageQuery,
      response: { 200: PageOf(schema.AgentOut) },
    },
    handler: ({ actor, query }) =>
      answerPage(tenant(pool, actor), { ...actor, channel: 'RCS' }, query, schema.toAgentOut),
  });

  app.post(`${MS}/rcs/agents`, {
    onRequest: requireScope('RCS'),
    schema: {
      tags: ['RCS'],
      operationId: 'requestRcsAgent',
      summary: 'Request an agent',
      description:
        'The operator registers it with the network, which verifies the brand and launches the agent; until then it is ' +
        'PENDING, has no `agentId` and cannot send.',
      body: withExamples(schema.AgentIn, {
        displayName: 'Acme',
        description: 'Parcels and returns',
        color: '#0057B8',
        useCase: 'TRANSACTIONAL',
      }),
      response: { 201: schema.AgentOut },
    },
    handler: idempotentTx(deps, 201, async ({ actor, body }, tx) =>
      schema.toAgentOut(await requestAgent(tx, actor, body)),
    ),
  });
}

async function answerPage<T>(
  db: Db,
  { accountId, channel }: { accountId: number; channel: SenderChannel },
  query: PageRequest,
  toOut: (sender: Sender) => T,
) {
  const usable = { accountId, channel };
  const [rows, total] = await Promise.all([
    listUsableSenders(db, usable, { limit: query.limit, offset: offsetOf(query) }),
    countUsableSenders(db, usable),
  ]);
  return pageOf(query, rows.map(toOut), total);
}
