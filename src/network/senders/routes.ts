import { tenant } from '../../platform/db/tenant.ts';
import type { Db } from '../../platform/db/query.ts';
import { requireScope } from '../../platform/http/auth.ts';
import type { PlatformDeps, App } from '../../platform/http/app.ts';
import { once } from '../../platform/http/idempotency.ts';
import { offsetOf, PageOf, pageOf, PageQuery, type PageRequest } from '../../platform/http/page.ts';
import { requestAgent } from './request-agent.ts';
import * as schema from './schema.ts';
import { countUsableSenders, listUsableSenders, type Sender, type SenderChannel } from './sql.ts';

const MS = '/api/message-server';

/** Contract 7: what an account may send as on WhatsApp and RCS. */
export function senderRoutes(app: App, deps: PlatformDeps): void {
  const { pool } = deps;

  app.get(`${MS}/whatsapp/phone-numbers`, {
    onRequest: requireScope('WHATSAPP'),
    schema: {
      tags: ['WhatsApp'],
      operationId: 'listWhatsappPhoneNumbers',
      summary: 'The numbers that this account may send WhatsApp messages from',
      querystring: PageQuery,
      response: { 200: PageOf(schema.PhoneNumberOut) },
    },
    handler: ({ actor, query }) =>
      pageOfSenders(tenant(pool, actor), { ...actor, channel: 'WHATSAPP' }, query, schema.toPhoneNumberOut),
  });

  app.get(`${MS}/rcs/agents`, {
    onRequest: requireScope('RCS'),
    schema: {
      tags: ['RCS'],
      operationId: 'listRcsAgents',
      summary: 'The agents that this account may send RCS messages as, and those that it has asked for',
      querystring: PageQuery,
      response: { 200: PageOf(schema.AgentOut) },
    },
    handler: ({ actor, query }) =>
      pageOfSenders(tenant(pool, actor), { ...actor, channel: 'RCS' }, query, schema.toAgentOut),
  });

  app.post(`${MS}/rcs/agents`, {
    onRequest: requireScope('RCS'),
    schema: {
      tags: ['RCS'],
      operationId: 'requestRcsAgent',
      summary: 'Ask for an agent',
      description:
        'The operator registers it with the network, which verifies the brand and launches the agent; until then it is ' +
        'PENDING, has no `agentId` and sends nothing.',
      body: schema.AgentIn,
      response: { 201: schema.AgentOut },
    },
    handler: once(deps, 201, async ({ actor, body }, tx) => schema.toAgentOut(await requestAgent(tx, actor, body))),
  });
}

async function pageOfSenders<T>(
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
