import { Type } from 'typebox';
import { tenant, tenantTransaction } from '../../platform/db/tenant.ts';
import type { App, PlatformDeps } from '../../platform/http/app.ts';
import { assertScope, requireScope } from '../../platform/http/auth.ts';
import { idempotentTx } from '../../platform/http/idempotency.ts';
import { offsetOf, pageFields, PageOf, pageOf } from '../../platform/http/page.ts';
import { withExamples } from '../../platform/http/schema.ts';
import type { Outbound } from '../../platform/outbound/outbound.ts';
import { addRule, changeRule, type KeywordContext, removeRule } from './change.ts';
import { RuleId, RuleIn, RuleOut, RulePatch, toRuleOut } from './schema.ts';
import { countRules, listRules } from './sql.ts';
import { kindOfTarget } from './target.ts';

const PATH = '/api/partner-gateway/v1/keyword-rules';
const tags = ['Inbox'];

export type KeywordRouteDeps = PlatformDeps & { readonly outbound: Outbound };

/** True if a rule sends SMS: by a reply or by a copy to a number. */
const sends = ({ answer, forwardTo }: { answer?: string | null; forwardTo?: string | null }): boolean =>
  Boolean(answer) || (Boolean(forwardTo) && kindOfTarget(forwardTo ?? '') === 'sms');

/**
 * Registers the routes for rules that act on the account's inbound messages by keyword. Changing rules requires the
 * scopes of the inbox and of webhooks, because rules send inbound messages elsewhere.
 */
export function keywordRoutes(app: App, { pool, answers, config, outbound }: KeywordRouteDeps): void {
  const context: KeywordContext = { guard: outbound.guard, sendsMail: config.mail !== undefined };
  const onRequest = [requireScope('inbox'), requireScope('webhooks')];

  app.get(PATH, {
    onRequest: requireScope('inbox'),
    schema: {
      tags,
      operationId: 'listKeywordRules',
      summary: 'List the keyword rules',
      description: 'Rules act on inbound messages by their first words. A STOP message is an opt-out and nothing else.',
      querystring: Type.Object(pageFields),
      response: { 200: PageOf(RuleOut) },
    },
    handler: async ({ actor, query }) => {
      const db = tenant(pool, actor);
      const { accountId } = actor;
      const rows = await listRules(db, { accountId, limit: query.limit, offset: offsetOf(query) });
      return pageOf(query, rows.map(toRuleOut), await countRules(db, { accountId }));
    },
  });

  app.post(PATH, {
    onRequest,
    schema: {
      tags,
      operationId: 'addKeywordRule',
      summary: 'Add a keyword rule',
      description: 'Replies and copies by SMS need the scope `SMS`.',
      body: withExamples(RuleIn, { keyword: 'hours', answer: 'We are open from 9 to 18.' }),
      response: { 201: RuleOut },
    },
    handler: idempotentTx({ pool, answers }, 201, async (request, tx) => {
      const { actor, body } = request;
      if (sends(body)) assertScope(request, 'SMS');
      const { number = null, answer = null, forwardTo = null, keyword } = body;
      return toRuleOut(await addRule(tx, actor, { number, keyword, answer, forwardTo, context }));
    }),
  });

  app.patch(`${PATH}/:id`, {
    onRequest,
    schema: {
      tags,
      operationId: 'changeKeywordRule',
      summary: 'Change a keyword rule',
      description: 'Omitted fields are unchanged. A rule that replies or copies by SMS needs the scope `SMS`.',
      params: RuleId,
      body: withExamples(RulePatch, { answer: 'We are open from 10 to 18.' }),
      response: { 200: RuleOut },
    },
    handler: async (request) => {
      const { actor, params, body } = request;
      const changed = await tenantTransaction(pool, actor, async (tx) => {
        const rule = await changeRule(tx, actor, { ...body, ...params, context });
        // Another keyword makes a rule send to other people: the resulting rule counts, not the fields of the body.
        if (sends(rule)) assertScope(request, 'SMS');
        return rule;
      });
      return toRuleOut(changed);
    },
  });

  app.delete(`${PATH}/:id`, {
    onRequest,
    schema: {
      tags,
      operationId: 'deleteKeywordRule',
      summary: 'Delete a keyword rule',
      params: RuleId,
      response: { 204: Type.Null({ description: 'Deleted' }) },
    },
    handler: async ({ actor, params }, reply) => {
      await tenantTransaction(pool, actor, (tx) => removeRule(tx, actor, params));
      return reply.code(204).send(null);
    },
  });
}
