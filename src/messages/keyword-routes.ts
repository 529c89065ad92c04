import { type Static, Type } from 'typebox';
import { collection } from '../accounts/collection.ts';
import type { Purpose } from '../core/channels.ts';
import { sql } from '../core/db/query.ts';
import { tenant, tenantTransaction } from '../core/db/transaction.ts';
import { type FieldError, invalidFields } from '../core/errors.ts';
import { type App, offsetOf, PageOf, type PlatformDeps, pageFields, pageOf, withExamples } from '../core/http/app.ts';
import { assertScope, requireScope } from '../core/http/auth.ts';
import { idempotentTx } from '../core/http/idempotency.ts';
import type { Guard } from '../core/outbound.ts';
import type { Outbound } from '../core/outbound-post.ts';
import { id, instant, orNull, purposeSchema } from '../core/schema.ts';
import { findUrlFault } from '../webhooks/urls.ts';
import { consentWordOf } from './consent-words.ts';
import { type KeywordRule, RULE } from './keyword-store.ts';
import { ANY_KEYWORD, kindOfTarget, MAX_KEYWORD_LENGTH, plainText } from './keywords.ts';

const NumberField = Type.String({
  pattern: String.raw`^\+?\d{1,20}$`,
  description: 'The number or short code that people write to.',
  'x-message': 'must be a number or a short code',
});
const Keyword = Type.String({
  minLength: 1,
  maxLength: MAX_KEYWORD_LENGTH,
  description:
    'The first word or words of the message, in any case; the longest keyword decides. `*`: every message without a ' +
    'keyword of its own.',
});
const Answer = orNull(
  Type.String({
    minLength: 1,
    maxLength: 1530,
    description: 'The SMS that is sent back from the number, at most 5 for each person in an hour.',
  }),
);
const ForwardTo = orNull(
  Type.String({
    minLength: 3,
    maxLength: 2048,
    description:
      'The target of a copy: a URL that begins with https:// (a POST with JSON, signed like an event of the webhook if the ' +
      'account has one, and repeated until the response is 2xx, for about two days), an email address (60 copies an hour, 3 on the plan trial), or a number in E.164 form (an SMS at your price).',
  }),
);

const RuleIn = Type.Object({
  number: Type.Optional(orNull(NumberField)),
  keyword: Keyword,
  answer: Type.Optional(Answer),
  forwardTo: Type.Optional(ForwardTo),
  purpose: Type.Optional(purposeSchema('Of the reply; by default service.')),
});
const RulePatch = Type.Partial(RuleIn);
const RuleId = Type.Object({ id: id() });

const RuleOut = Type.Object({
  id: Type.Integer(),
  number: orNull(Type.String({ description: 'Without a plus sign. Null: every number of the account.' })),
  keyword: Type.String(),
  answer: orNull(Type.String()),
  forwardTo: orNull(Type.String()),
  purpose: purposeSchema('Of the reply.'),
  fault: orNull(Type.String({ description: 'Reason why the last reply or copy was not sent. Null: none failed.' })),
  faultAt: orNull(instant('UTC')),
  createdAt: instant('UTC'),
});

const toRuleOut = (rule: KeywordRule): Static<typeof RuleOut> => ({
  id: rule.id,
  number: rule.number,
  keyword: rule.keyword,
  answer: rule.answer,
  forwardTo: rule.forwardTo,
  purpose: rule.purpose,
  fault: rule.fault,
  faultAt: rule.faultAt?.toISOString() ?? null,
  createdAt: rule.createdAt.toISOString(),
});

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
      const rows = await KEYWORD_RULES.list(db, actor, { limit: query.limit, offset: offsetOf(query) });
      return pageOf(query, rows.map(toRuleOut), await KEYWORD_RULES.count(db, actor));
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
      const { number = null, answer = null, forwardTo = null, purpose = 'service', keyword } = body;
      return toRuleOut(
        await KEYWORD_RULES.add(tx, actor, await checked({ number, answer, forwardTo, purpose, keyword }, context)),
      );
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
        const rule = await KEYWORD_RULES.change(tx, actor, params, (before) =>
          checked({ ...before, ...body }, context),
        );
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
    handler: ({ actor, params }) => tenantTransaction(pool, actor, (tx) => KEYWORD_RULES.remove(tx, actor, params)),
  });
}

/** Capabilities of this installation for copies. */
type KeywordContext = {
  readonly guard: Guard;
  /** True if there is a mail server. */
  readonly sendsMail: boolean;
};

/** The rules of an account, which its users change. */
export const KEYWORD_RULES = collection({
  table: 'keyword_rule',
  columns: RULE,
  fields: ['number', 'keyword', 'answer', 'forwardTo', 'purpose', 'fault', 'faultAt'],
  order: sql`r.keyword, r.number NULLS FIRST`,
  max: 1000,
  full: 'An account may have at most 1000 rules',
  taken: 'A rule for this number and keyword already exists',
  audit: 'keyword-rule',
  // The kinds of its texts, not the texts.
  detail: ({ number, keyword, answer, forwardTo }) => ({
    number,
    keyword,
    answers: answer !== null,
    forwards: forwardTo && kindOfTarget(forwardTo),
  }),
});

type RuleInput = {
  readonly number: string | null;
  readonly keyword: string;
  readonly answer: string | null;
  readonly forwardTo: string | null;
  readonly purpose: Purpose;
};

/** Reads a rule, which has not failed yet. Errors: 400 naming the invalid fields. */
async function checked({ number, keyword, answer, forwardTo, purpose }: RuleInput, context: KeywordContext) {
  const rule = {
    number: number === null ? null : number.replace(/^\+/, ''),
    keyword: plainText(keyword),
    answer,
    forwardTo,
    purpose,
    fault: null,
    faultAt: null,
  };
  const targetFault = forwardTo === null ? null : await findTargetFault(forwardTo, context);
  const faults: FieldError[] = [
    ...(rule.keyword === '' ? [{ field: 'keyword', message: 'must not be empty' }] : []),
    // A letter may become two in lower case.
    ...(Array.from(rule.keyword).length > MAX_KEYWORD_LENGTH
      ? [{ field: 'keyword', message: `must have at most ${MAX_KEYWORD_LENGTH} characters in lower case` }]
      : []),
    ...(rule.keyword !== ANY_KEYWORD && consentWordOf(rule.keyword) === 'stop'
      ? [{ field: 'keyword', message: 'is an opt-out word: it never gets a reply' }]
      : []),
    ...(answer === null && forwardTo === null ? [{ field: 'answer', message: 'is required, or forwardTo' }] : []),
    ...(targetFault === null ? [] : [{ field: 'forwardTo', message: targetFault }]),
  ];
  if (faults.length > 0) throw invalidFields(faults);
  return rule;
}

async function findTargetFault(target: string, { guard, sendsMail }: KeywordContext): Promise<string | null> {
  const kind = kindOfTarget(target);
  if (kind === 'sms') return null;
  if (kind === 'mail') return sendsMail ? null : 'cannot be an email address: this gateway has no mail server';
  return target.startsWith('https:')
    ? findUrlFault(guard, target)
    : 'must be a URL that begins with https://, an email address, or a number in E.164 form';
}
