import { type Static, Type } from 'typebox';
import { tenant } from '../core/db/transaction.ts';
import { as, columns, type Db, many, type RowOf, sql } from '../core/db/query.ts';
import { invalidFields } from '../core/errors.ts';
import { type App, withExamples } from '../core/http/app.ts';
import { requireScope } from '../core/http/auth.ts';
import { idempotentHandler, idempotentTx } from '../core/http/idempotency.ts';
import { firstIdAt, timeOfId } from '../core/ids.ts';
import { fromMicros } from '../core/money.ts';
import { maskNumber } from '../core/phone.ts';
import { instant, orNull } from '../core/schema.ts';
import { DAY_MS } from '../core/time.ts';
import { createBaselines } from './counters.ts';
import type { Decision, Reason } from './guard.ts';
import { reportPlainSend } from './plain-sends.ts';
import { decideRange, type ListedRange, listRanges } from './ranges.ts';
import { MAX_REPLAYED, replay } from './replay.ts';
import { Feedback, VERIFY, type VerifyRouteDeps } from './routes.ts';
import { Guard } from './services.ts';
import { GROUPS, listStats } from './stats.ts';

const tags = ['Verify'];
const onRequest = requireScope('verify');
const at = (description: string) => Type.Optional(Type.String({ format: 'date-time', description }));
const Span = { from: at('UTC; default: 24 hours ago.'), to: at('UTC; default: now.') };
const ServiceId = Type.Optional(Type.String({ format: 'uuid', description: 'Default: all services.' }));
const Reasons = Type.Array(Type.Record(Type.String(), Type.Unknown()), {
  description: 'Every observation: `rule`, and where it has them `value`, `limit`, `window` and `prefix`.',
});
const Outcome = Type.Enum(['ALLOW', 'CHALLENGE', 'BLOCK'], { type: 'string' });

const DecisionOut = Type.Object({
  id: Type.String({ format: 'uuid' }),
  at: instant('UTC'),
  serviceId: orNull(Type.String({ format: 'uuid' })),
  verificationId: orNull(Type.String({ format: 'uuid', description: 'Null: nothing was sent.' })),
  to: Type.String({ description: 'The number with its middle hidden.' }),
  country: orNull(Type.String()),
  outcome: Outcome,
  enforced: Type.Boolean({ description: 'False: only recorded, because the mode or the country is monitored.' }),
  rule: orNull(Type.String({ description: 'The rule that decided.' })),
  reasons: Reasons,
  cost: Type.Number({ description: 'Price of the messages of the send.' }),
});

const Prefix = Type.Object({
  prefix: Type.String({
    pattern: '^\\+?[1-9]\\d{2,13}$',
    description: 'Beginning of the numbers in E.164, with its plus.',
  }),
});
const RangeOut = Type.Object({
  prefix: Type.String(),
  state: Type.Enum(['PAUSED', 'OPEN', 'RELEASED', 'BLOCKED'], {
    type: 'string',
    description: 'PAUSED until `until`. OPEN: it was paused. RELEASED and BLOCKED: by a person, for good.',
  }),
  since: instant('UTC'),
  until: orNull(instant('UTC')),
  reasons: Reasons,
  probes: Type.Integer({ description: 'Sends that passed the pause to find out whether people are there.' }),
  probesApproved: Type.Integer(),
});

const toRange = ({ since, until, reasons, ...range }: ListedRange): Static<typeof RangeOut> => ({
  ...range,
  since: since.toISOString(),
  until: until?.toISOString() ?? null,
  reasons: reasons.map((reason) => ({ ...reason })),
});

const StatsOut = Type.Object({
  key: orNull(Type.String()),
  started: Type.Integer(),
  sends: Type.Integer(),
  delivered: Type.Integer(),
  approved: Type.Integer(),
  stopped: Type.Integer({ description: 'Sends that the guard has blocked or challenged.' }),
  medianSeconds: orNull(Type.Number({ description: 'From the request to the approval.' })),
  cost: Type.Number(),
  costPerApproval: orNull(Type.Number()),
  moneyStopped: Type.Number({ description: 'What the stopped sends would have cost.' }),
});

const ReplayIn = Type.Object({ serviceId: ServiceId, ...Span, guard: Guard });
const ReplayOut = Type.Object({
  sends: Type.Integer(),
  stopped: Type.Integer({ description: 'Sends that would have been blocked.' }),
  challenged: Type.Integer(),
  moneyStopped: Type.Number({ description: 'Price of those whose codes nobody entered.' }),
  peopleBlocked: Type.Integer({ description: 'People who entered their codes, and would not have got them.' }),
  peopleChallenged: Type.Integer({ description: 'People who would have had to pass a challenge first.' }),
  rules: Type.Record(Type.String(), Type.Integer(), { description: 'Stopped sends by the rule that decided.' }),
});

/** Registers the routes of the guard: its decisions, its ranges, its figures, and a replay with other settings. */
export function verifyGuardRoutes(app: App, { pool, answers, clock }: VerifyRouteDeps): void {
  const baselines = createBaselines();
  const spanOf = ({ from, to }: { from?: string; to?: string }) => {
    const end = to === undefined ? clock.now() : new Date(to);
    const start = from === undefined ? new Date(end.getTime() - DAY_MS) : new Date(from);
    if (start >= end) throw invalidFields([{ field: 'from', message: 'must be before to' }]);
    return { from: start, to: end };
  };

  app.get(`${VERIFY}/guard/decisions`, {
    onRequest: [onRequest, requireScope('money')],
    config: { takesTurns: true },
    schema: {
      tags,
      operationId: 'listGuardDecisions',
      summary: 'List what the guard decided, the newest first',
      description: 'Up to 1,000 of a span. Requires the scope `money` too.',
      querystring: Type.Object({
        ...Span,
        serviceId: ServiceId,
        outcome: Type.Optional(Outcome),
        prefix: Type.Optional(Type.String({ maxLength: 16, description: 'Beginning of the numbers, with its plus.' })),
      }),
      response: { 200: Type.Array(DecisionOut) },
    },
    handler: async ({ actor, query: { serviceId = null, outcome = null, prefix = null, ...span } }) => {
      const filter = { accountId: actor.accountId, serviceId, outcome, prefix, ...spanOf(span) };
      return (await listDecisions(tenant(pool, actor), filter)).map(toDecision);
    },
  });

  app.get(`${VERIFY}/guard/ranges`, {
    onRequest,
    schema: {
      tags,
      operationId: 'listGuardRanges',
      summary: 'List the ranges of numbers that the guard or a person has decided about',
      response: { 200: Type.Array(RangeOut) },
    },
    handler: async ({ actor }) => (await listRanges(tenant(pool, actor), actor)).map(toRange),
  });

  for (const [verb, state] of [
    ['release', 'RELEASED'],
    ['block', 'BLOCKED'],
  ] as const)
    app.post(`${VERIFY}/guard/ranges/:prefix/${verb}`, {
      // A session left open, or the key of an app, could open the way for pumping; a block only closes it.
      ...(verb === 'release'
        ? { onRequest: [onRequest, requireScope('keys')], config: { stepUp: true } }
        : { onRequest }),
      schema: {
        tags,
        operationId: `${verb}GuardRange`,
        summary: verb === 'release' ? 'Let all codes to a range pass' : 'Send no codes to a range',
        description: 'For good: until another decision about the same range.',
        params: Prefix,
        response: { 200: RangeOut },
      },
      handler: idempotentTx({ pool, answers }, 200, async ({ actor, params: { prefix } }, tx) =>
        toRange(await decideRange(tx, actor, { prefix: prefix.startsWith('+') ? prefix : `+${prefix}`, state })),
      ),
    });

  app.post(`${VERIFY}/guard/replay`, {
    onRequest,
    config: { takesTurns: 'large' },
    schema: {
      tags,
      operationId: 'replayGuard',
      summary: 'Show what other settings of the guard would have done',
      description: `Runs the sends of a span, up to ${MAX_REPLAYED}, through the guard with these settings. Nothing changes.`,
      body: withExamples(ReplayIn, { guard: { mode: 'strict' } }),
      response: { 200: ReplayOut },
    },
    handler: idempotentHandler(
      { answers },
      async ({ actor, body: { guard, serviceId = null, ...span } }, _reply, pendingAnswer) => {
        const asked = { accountId: actor.accountId, serviceId, ...spanOf(span) };
        const { stoppedMicros, ...done } = await replay(tenant(pool, actor), asked, { guard, baselines });
        const out = { ...done, moneyStopped: fromMicros(stoppedMicros) };
        if (pendingAnswer) await answers.storeSoon(pendingAnswer.seal(out));
        return out;
      },
    ),
  });

  app.post('/api/partner-gateway/v1/messages/:messageId/feedback', {
    onRequest: requireScope('SMS'),
    schema: {
      tags,
      operationId: 'reportMessage',
      summary: 'Report whether the code of a message was entered',
      description:
        'For a single SMS with `purpose: otp` and `userIp`, by our id, once: the guard learns from it. 404 for any other message.',
      params: Type.Object({ messageId: Type.String({ format: 'uuid' }) }),
      body: withExamples(Feedback, { outcome: 'converted' }),
      response: { 204: Type.Null({ description: 'Recorded' }) },
    },
    handler: idempotentTx({ pool, answers }, 204, ({ actor, params, body }, tx) =>
      reportPlainSend(tx, actor, { ...body, messageId: params.messageId.toLowerCase(), at: clock.now() }),
    ),
  });

  app.get(`${VERIFY}/stats`, {
    onRequest: [onRequest, requireScope('money')],
    config: { takesTurns: true },
    schema: {
      tags,
      operationId: 'listVerifyStats',
      summary: 'Show how many codes were sent and entered, and what they cost',
      description:
        'By country, network (MCC and MNC), range of 10,000 numbers, channel or hour; of ranges those first for which most ' +
        'money was stopped. Requires the scope `money` too.',
      querystring: Type.Object({
        by: Type.Optional(
          Type.Enum(Object.keys(GROUPS) as (keyof typeof GROUPS)[], { type: 'string', default: 'country' }),
        ),
        serviceId: ServiceId,
        ...Span,
      }),
      response: { 200: Type.Array(StatsOut) },
    },
    handler: async ({ actor, query: { by = 'country', serviceId = null, ...span } }) => {
      const rows = await listStats(tenant(pool, actor), { accountId: actor.accountId, by, serviceId, ...spanOf(span) });
      return rows.map(({ micros, stoppedMicros, ...row }) => ({
        ...row,
        cost: fromMicros(micros),
        costPerApproval: row.approved === 0 ? null : fromMicros(Math.round(micros / row.approved)),
        moneyStopped: fromMicros(stoppedMicros),
      }));
    },
  });
}

const DECISION = columns({
  id: as<string>('id'),
  serviceId: as<string | null>('service_id'),
  verificationId: as<string | null>('verification_id'),
  number: as<string>('number'),
  country: as<string | null>('country'),
  outcome: as<Decision['outcome']>('outcome'),
  enforced: as<boolean>('enforced'),
  rule: as<string | null>('rule'),
  reasons: as<Reason[]>('reasons'),
  micros: as<number>('micros'),
});

const toDecision = ({ number, micros, reasons, ...row }: RowOf<typeof DECISION>): Static<typeof DecisionOut> => ({
  ...row,
  at: timeOfId(row.id).toISOString(),
  to: maskNumber(number),
  reasons: reasons.map((reason) => ({ ...reason })),
  cost: fromMicros(micros),
});

type Filter = {
  readonly accountId: number;
  readonly serviceId: string | null;
  readonly outcome: string | null;
  readonly prefix: string | null;
  readonly from: Date;
  readonly to: Date;
};

const listDecisions = (db: Db, { accountId, serviceId, outcome, prefix, from, to }: Filter) =>
  many(
    db,
    sql`SELECT ${DECISION} FROM verify_decision
        WHERE account_id = ${accountId} AND id >= ${firstIdAt(from)} AND id < ${firstIdAt(to)}
          AND (${serviceId}::uuid IS NULL OR service_id = ${serviceId})
          AND (${outcome}::text IS NULL OR outcome = ${outcome})
          AND (${prefix}::text IS NULL OR starts_with(number, ${prefix}))
        ORDER BY id DESC LIMIT 1000`,
  );
