import { Type } from 'typebox';
import { amount, Done, OPERATOR_PATH, operatorNameOf } from '../accounts/operator-fields.ts';
import { LOOKUP_PRESET_NAMES, type LookupSettings } from '../channels/number-lookup.ts';
import { transaction } from '../core/db/transaction.ts';
import { type App, type PlatformDeps, withExamples } from '../core/http/app.ts';
import { requireOperator } from '../core/http/auth.ts';
import { idempotentGlobal, idempotentHandler } from '../core/http/idempotency.ts';
import { fromMicros } from '../core/money.ts';
import { createGuard } from '../core/outbound.ts';
import { orNull } from '../core/schema.ts';
import { listCounts, listServices } from './number-lookup-store.ts';
import { addService, removeService, testService } from './number-lookups.ts';

const tags = ['Operator: routes'];
const LOOKUPS = `${OPERATOR_PATH}/lookups`;

const Name = Type.String({ maxLength: 63, description: 'The name of a look-up service.' });
const Settings = Type.Record(Type.String(), Type.Unknown(), {
  description: 'The settings that are not the default: see docs/routing.md.',
});

const LookupOut = Type.Object({
  id: Type.Integer(),
  name: Name,
  settings: Settings,
  answered: Type.Integer({ description: 'Look-ups of the last 30 days.' }),
  failed: Type.Integer(),
  cost: amount('Their cost, in currency units.'),
});

const LookupIn = Type.Object({
  name: Name,
  settings: Settings,
  apiKey: Type.Optional(
    Type.String({ maxLength: 4000, writeOnly: true, description: 'The key of the API; it is never shown again.' }),
  ),
});

const Tried = Type.Object({
  ok: Type.Boolean(),
  network: orNull(Type.String({ description: 'MCC and MNC; null if the service knows none.' })),
  ported: orNull(Type.Boolean()),
  reason: orNull(Type.String({ description: 'Reason why the look-up failed.' })),
});

const TryIn = Type.Object({
  phoneNumber: Type.String({
    pattern: String.raw`^\+[1-9]\d{6,14}$`,
    'x-message': 'must be a number in E.164 form, such as +393331234567',
  }),
});

/** Registers the routes for number-lookup services. Running programs follow every change immediately. */
export function operatorLookupRoutes(app: App, deps: PlatformDeps): void {
  const { pool, secretKey, config } = deps;
  const onRequest = requireOperator();

  app.get(LOOKUPS, {
    onRequest,
    config: { command: 'lookup list' },
    schema: {
      tags,
      operationId: 'operatorListLookups',
      summary: 'List number-lookup services',
      description: 'The first is queried, for numbers whose network affects the choice of a connection.',
      response: {
        200: Type.Object({
          data: Type.Array(LookupOut),
          presets: Type.Array(Type.String(), { description: 'The supported services.' }),
        }),
      },
    },
    handler: async () => {
      const [services, counts] = await Promise.all([listServices(pool), listCounts(pool)]);
      const countsOf = new Map(counts.map((row) => [row.serviceId, row]));
      return {
        presets: [...LOOKUP_PRESET_NAMES],
        data: services.map(({ id, name, settings }) => {
          const { answered = 0, failed = 0, costMicros = 0 } = countsOf.get(id) ?? {};
          return { id, name, settings: settings as LookupSettings, answered, failed, cost: fromMicros(costMicros) };
        }),
      };
    },
  });

  app.post(LOOKUPS, {
    onRequest,
    config: { command: 'lookup add' },
    schema: {
      tags,
      operationId: 'operatorAddLookup',
      summary: 'Add a number-lookup service',
      description: 'It is queried for numbers whose network affects the choice of a connection.',
      body: withExamples(LookupIn, {
        name: 'twilio',
        settings: { preset: 'twilio', account: 'AC00000000000000000000000000000000', price: 0.008 },
        apiKey: 'token',
      }),
      response: { 201: Type.Object({ id: Type.Integer(), name: Name }) },
    },
    handler: idempotentGlobal(deps, 201, async ({ actor, body: { apiKey = '', ...body } }, tx) => {
      const { id } = await addService(tx, secretKey, { ...body, apiKey, by: operatorNameOf(actor) });
      return { id, name: body.name };
    }),
  });

  app.post(`${LOOKUPS}/:name/test`, {
    onRequest,
    config: { command: 'lookup test <phone-number>' },
    schema: {
      tags,
      operationId: 'operatorTestLookup',
      summary: 'Test a number-lookup service with a number',
      description: 'Nothing is stored, and no look-up is counted, but the service may charge for it.',
      params: Type.Object({ name: Name }),
      body: withExamples(TryIn, { phoneNumber: '+4236601234' }),
      response: { 200: Tried },
    },
    handler: idempotentHandler(deps, async ({ params: { name }, body: { phoneNumber: number } }) => {
      const outside = { secretKey, guard: createGuard(config.webhooks) };
      const found = await testService(pool, outside, { name, number });
      return found.kind === 'answered'
        ? { ok: true, network: found.network, ported: found.ported, reason: null }
        : { ok: false, network: null, ported: null, reason: found.reason };
    }),
  });

  app.delete(`${LOOKUPS}/:name`, {
    onRequest,
    config: { command: 'lookup remove' },
    schema: {
      tags,
      operationId: 'operatorDeleteLookup',
      summary: 'Delete a number-lookup service',
      params: Type.Object({ name: Name }),
      response: { 204: Done },
    },
    handler: ({ actor, params }) =>
      transaction(pool, (tx) => removeService(tx, { name: params.name, by: operatorNameOf(actor) })),
  });
}
