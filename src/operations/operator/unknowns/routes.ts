import { type Static, Type } from 'typebox';
import { requireOperator } from '../../../platform/http/auth.ts';
import type { PlatformDeps, App } from '../../../platform/http/app.ts';
import { idempotentHandler } from '../../../platform/http/idempotency.ts';
import { offsetOf, pageFields, pageOf, PageOf } from '../../../platform/http/page.ts';
import { maskNumber } from '../../../platform/lib/mask.ts';
import { VERDICTS } from '../../../messaging/unknown-outcomes/settle.ts';
import { operatorNameOf } from '../author.ts';
import { accountId, amount, connectionField, OPERATOR_PATH } from '../fields.ts';
import { settleAll } from './settle-all.ts';
import { countUnknowns, listUnknownPage, type UnknownRow } from './sql.ts';
import { instant, orNull } from '../../../platform/lib/schema.ts';

const tags = ['Operator: open unknowns'];

const UnknownOut = Type.Object({
  messageId: Type.String({ format: 'uuid' }),
  accountId: Type.Integer(),
  account: Type.String(),
  connection: orNull(Type.String({ description: 'Null: it was removed.' })),
  destination: Type.String({ description: 'Masked.' }),
  sender: Type.String(),
  parts: Type.Integer(),
  since: instant('UTC'),
  ageSeconds: amount('Since then.'),
  reason: Type.String(),
});

const UnknownQuery = Type.Object({
  ...pageFields,
  accountId: Type.Optional(accountId),
  connection: connectionField,
});

const SettleIn = Type.Object({
  messageIds: Type.Array(Type.String({ format: 'uuid' }), { minItems: 1, maxItems: 100 }),
  as: Type.Enum([...VERDICTS], {
    type: 'string',
    description: 'What the carrier says. `not-sent` puts them back into the queue, all else is their end.',
  }),
});

const SettleOut = Type.Object({
  settled: Type.Integer(),
  results: Type.Array(
    Type.Object({
      messageId: Type.String(),
      settled: Type.Boolean(),
      message: orNull(Type.String({ description: 'Why not.' })),
    }),
  ),
});

/** Messages that were written to a carrier and never answered. */
export function operatorUnknownRoutes(app: App, deps: PlatformDeps): void {
  const { pool, clock } = deps;
  const onRequest = requireOperator();

  app.get(`${OPERATOR_PATH}/unknowns`, {
    onRequest,
    schema: {
      tags,
      operationId: 'operatorListUnknowns',
      summary: 'Messages whose outcome nobody knows, the oldest first',
      description: 'Most settle by themselves with their receipt.',
      querystring: UnknownQuery,
      response: { 200: PageOf(UnknownOut) },
    },
    handler: async ({ query }) => {
      const filter = { accountId: query.accountId ?? null, connection: query.connection ?? null };
      const rows = await listUnknownPage(pool, { ...filter, limit: query.limit, offset: offsetOf(query) });
      return pageOf(query, rows.map(listed), await countUnknowns(pool, filter));
    },
  });

  app.post(`${OPERATOR_PATH}/unknowns/settle`, {
    onRequest,
    schema: {
      tags,
      operationId: 'operatorSettleUnknowns',
      summary: 'Say what became of messages',
      description: 'Each by itself: one that was settled meanwhile does not keep the others.',
      body: SettleIn,
      response: { 200: SettleOut },
    },
    // A message is settled once, whoever asks again.
    handler: idempotentHandler(deps, async ({ actor, body }) => {
      const results = await settleAll(pool, { ...body, by: operatorNameOf(actor), now: clock.now() });
      return { settled: results.filter(({ settled }) => settled).length, results };
    }),
  });
}

const listed = ({ since, destination, ...row }: UnknownRow): Static<typeof UnknownOut> => ({
  ...row,
  destination: maskNumber(destination),
  since: since.toISOString(),
});
