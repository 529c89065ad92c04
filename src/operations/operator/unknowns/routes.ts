import { type Static, Type } from 'typebox';
import { VERDICTS } from '../../../messaging/unknown-outcomes/settle.ts';
import type { App, PlatformDeps } from '../../../platform/http/app.ts';
import { requireOperator } from '../../../platform/http/auth.ts';
import { idempotentHandler } from '../../../platform/http/idempotency.ts';
import { offsetOf, pageFields, PageOf, pageOf } from '../../../platform/http/page.ts';
import { maskNumber } from '../../../platform/lib/phone/mask.ts';
import { instant, orNull } from '../../../platform/lib/schema.ts';
import { operatorNameOf } from '../author.ts';
import { accountIdField, amount, connectionField, OPERATOR_PATH } from '../fields.ts';
import { settleAll } from './settle-all.ts';
import { countUnknowns, listUnknownPage, type UnknownRow } from './sql.ts';
import { withExamples } from '../../../platform/http/schema.ts';

const tags = ['Operator: open unknowns'];

const UnknownOut = Type.Object({
  messageId: Type.String({ format: 'uuid' }),
  accountId: Type.Integer(),
  account: Type.String(),
  connection: orNull(Type.String({ description: 'Null: the connection was removed.' })),
  destination: Type.String({ description: 'Masked.' }),
  sender: Type.String(),
  parts: Type.Integer(),
  since: instant('UTC'),
  ageSeconds: amount('The time since then.'),
  reason: Type.String(),
});

const UnknownQuery = Type.Object({
  ...pageFields,
  accountId: Type.Optional(accountIdField),
  connection: connectionField,
});

const SettleIn = Type.Object({
  messageIds: Type.Array(Type.String({ format: 'uuid' }), { minItems: 1, maxItems: 100 }),
  as: Type.Enum([...VERDICTS], {
    type: 'string',
    description:
      "The carrier's information. `not-sent` queues the messages again; every other value is their final status.",
  }),
});

const SettleOut = Type.Object({
  settled: Type.Integer(),
  results: Type.Array(
    Type.Object({
      messageId: Type.String(),
      settled: Type.Boolean(),
      message: orNull(Type.String({ description: 'Reason why the message was not settled.' })),
    }),
  ),
});

/** Registers the routes for unknown outcomes: messages that were written to a carrier and got no response. */
export function operatorUnknownRoutes(app: App, deps: PlatformDeps): void {
  const { pool, clock } = deps;
  const onRequest = requireOperator();

  app.get(`${OPERATOR_PATH}/unknowns`, {
    onRequest,
    schema: {
      tags,
      operationId: 'operatorListUnknowns',
      summary: 'List messages with an unknown outcome, oldest first',
      description: 'Most of them are settled by their receipts.',
      querystring: UnknownQuery,
      response: { 200: PageOf(UnknownOut) },
    },
    handler: async ({ query }) => {
      const filter = { accountId: query.accountId ?? null, connection: query.connection ?? null };
      const rows = await listUnknownPage(pool, { ...filter, limit: query.limit, offset: offsetOf(query) });
      return pageOf(query, rows.map(toUnknownOut), await countUnknowns(pool, filter));
    },
  });

  app.post(`${OPERATOR_PATH}/unknowns/settle`, {
    onRequest,
    schema: {
      tags,
      operationId: 'operatorSettleUnknowns',
      summary: 'Settle unknown outcomes',
      description:
        'Each message is settled separately: one that was settled in the meantime does not affect the others.',
      body: withExamples(SettleIn, { messageIds: ['01a1fd63-cf7c-7183-929b-46bc3bfe6f71'], as: 'delivered' }),
      response: { 200: SettleOut },
    },
    // A repeated request settles no message twice.
    handler: idempotentHandler(deps, async ({ actor, body }) => {
      const results = await settleAll(pool, { ...body, by: operatorNameOf(actor), now: clock.now() });
      return { settled: results.filter(({ settled }) => settled).length, results };
    }),
  });
}

const toUnknownOut = ({ since, destination, ...row }: UnknownRow): Static<typeof UnknownOut> => ({
  ...row,
  destination: maskNumber(destination),
  since: since.toISOString(),
});
