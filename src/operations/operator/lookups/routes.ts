import { Type } from 'typebox';
import type { LookupSettings } from '../../../carriers/number-lookup/settings.ts';
import { addService, removeService } from '../../../network/number-lookups/services.ts';
import { listCounts, listServices } from '../../../network/number-lookups/sql.ts';
import { transaction } from '../../../platform/db/transaction.ts';
import type { App, PlatformDeps } from '../../../platform/http/app.ts';
import { requireOperator } from '../../../platform/http/auth.ts';
import { idempotentGlobal } from '../../../platform/http/idempotency.ts';
import { withExamples } from '../../../platform/http/schema.ts';
import { fromMicros } from '../../../platform/lib/money.ts';
import { operatorNameOf } from '../author.ts';
import { amount, Done, OPERATOR_PATH } from '../fields.ts';

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
  cost: amount('What they cost, in currency units.'),
});

const LookupIn = Type.Object({
  name: Name,
  settings: Settings,
  apiKey: Type.Optional(Type.String({ maxLength: 4000, description: 'The key of the API; it is never shown again.' })),
});

/** The routes for services that know the networks of numbers. Running programs follow every change at once. */
export function operatorLookupRoutes(app: App, deps: PlatformDeps): void {
  const { pool, secretKey } = deps;
  const onRequest = requireOperator();

  app.get(LOOKUPS, {
    onRequest,
    schema: {
      tags,
      operationId: 'operatorListLookups',
      summary: 'List the services that know the networks of numbers',
      description: 'The first is asked.',
      response: { 200: Type.Object({ data: Type.Array(LookupOut) }) },
    },
    handler: async () => {
      const [services, counts] = await Promise.all([listServices(pool), listCounts(pool)]);
      const countsOf = new Map(counts.map((row) => [row.serviceId, row]));
      return {
        data: services.map(({ id, name, settings }) => {
          const { answered = 0, failed = 0, costMicros = 0 } = countsOf.get(id) ?? {};
          return { id, name, settings: settings as LookupSettings, answered, failed, cost: fromMicros(costMicros) };
        }),
      };
    },
  });

  app.post(LOOKUPS, {
    onRequest,
    schema: {
      tags,
      operationId: 'operatorAddLookup',
      summary: 'Add a service that knows the networks of numbers',
      description: 'It is asked for numbers of whose prefix a route or a cost names a network.',
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

  app.delete(`${LOOKUPS}/:name`, {
    onRequest,
    schema: {
      tags,
      operationId: 'operatorDeleteLookup',
      summary: 'Delete a service that knows the networks of numbers',
      params: Type.Object({ name: Name }),
      response: { 204: Done },
    },
    handler: async ({ actor, params }, reply) => {
      await transaction(pool, (tx) => removeService(tx, { name: params.name, by: operatorNameOf(actor) }));
      return reply.code(204).send(null);
    },
  });
}
