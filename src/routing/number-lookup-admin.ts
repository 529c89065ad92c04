import type { Command } from 'commander';
import { Type } from 'typebox';
import { operatorName } from '../accounts/audit.ts';
import { amount, Done, OPERATOR_PATH, operatorNameOf } from '../accounts/operator-fields.ts';
import { LOOKUP_PRESET_NAMES, type LookupSettings } from '../channels/number-lookup.ts';
import { addSecretOption, type CommandContext, table } from '../core/cli.ts';
import { transaction } from '../core/db/transaction.ts';
import { type App, type PlatformDeps, withExamples } from '../core/http/app.ts';
import { requireOperator } from '../core/http/auth.ts';
import { idempotentGlobal, idempotentHandler } from '../core/http/idempotency.ts';
import { fromMicros } from '../core/money.ts';
import { createGuard } from '../core/outbound.ts';
import { orNull } from '../core/schema.ts';
import { loadSecretKey } from '../core/secrets.ts';
import { divideSettings } from './connection-commands.ts';
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
  apiKey: Type.Optional(Type.String({ maxLength: 4000, description: 'The key of the API; it is never shown again.' })),
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
    schema: {
      tags,
      operationId: 'operatorDeleteLookup',
      summary: 'Delete a number-lookup service',
      params: Type.Object({ name: Name }),
      response: { 204: Done },
    },
    handler: async ({ actor, params }, reply) => {
      await transaction(pool, (tx) => removeService(tx, { name: params.name, by: operatorNameOf(actor) }));
      return reply.code(204).send(null);
    },
  });
}

type AddFlags = Readonly<Record<string, unknown>> & {
  readonly name: string;
  readonly preset?: string;
  readonly account?: string;
  readonly set: string[];
};

/**
 * Registers `lookup add`, `list`, `test` and `remove` for the services that know the networks of numbers. A running
 * program follows immediately.
 */
export function registerLookupCommands(program: Command, context: CommandContext): void {
  const lookup = program.command('lookup').description('services that know the networks of numbers');

  const add = lookup
    .command('add')
    .description('add a service; it is asked for numbers whose network changes which connection they go to')
    .requiredOption('--name <name>', 'name of the service')
    .option('--preset <name>', `a service whose protocol is known: ${LOOKUP_PRESET_NAMES.join(', ')}`)
    .option('--account <id>', 'the account there; for twilio the account SID')
    .option('--set <name=value...>', 'any other setting, see docs/routing.md', [])
    .action(async (flags: AddFlags) => {
      const { name, preset, account, set } = flags;
      const apiKey = (await context.secrets.ofOption(flags, '--api-key')) ?? '';
      const { settings } = divideSettings(set, new Set());
      const given = { ...(preset !== undefined && { preset }), ...(account !== undefined && { account }), ...settings };
      const key = await loadSecretKey(context.config());
      const input = { name, settings: given, apiKey, by: operatorName() };
      const added = await context.withDatabase((pool) => transaction(pool, (tx) => addService(tx, key, input)));
      context.report(added, () => `Look-up service ${name} was added.`);
    });
  addSecretOption(add, '--api-key', 'the key, token or password of the API');

  lookup
    .command('list')
    .description('list the services with their look-ups of the last 30 days; the first is asked')
    .action(async () => {
      const [services, counts] = await context.withDatabase((pool) =>
        Promise.all([listServices(pool), listCounts(pool)]),
      );
      const rows = services.map(({ id, name, settings }) => {
        const { answered = 0, failed = 0, costMicros = 0 } = counts.find(({ serviceId }) => serviceId === id) ?? {};
        return { id, name, settings, answered, failed, cost: fromMicros(costMicros) };
      });
      context.report(rows, () =>
        table(
          ['name', 'answered', 'failed', 'cost'],
          rows.map((row) => [row.name, row.answered, row.failed, row.cost]),
        ),
      );
    });

  lookup
    .command('test')
    .argument('<name>')
    .argument('<number>', 'the number in E.164 form, such as +393331234567')
    .description('ask a service for the network of a number; nothing is stored, but it may cost something')
    .action(async (name: string, number: string) => {
      const config = context.config();
      const outside = { secretKey: await loadSecretKey(config), guard: createGuard(config.webhooks) };
      const found = await context.withDatabase((pool) => testService(pool, outside, { name, number }));
      context.report(
        found,
        (got) => (got.kind === 'failed' ? `It failed: ${got.reason}` : `Network: ${got.network ?? 'unknown'}`),
        found.kind === 'answered',
      );
    });

  lookup
    .command('remove')
    .argument('<name>')
    .description('remove a service')
    .action(async (name: string) => {
      await context.withDatabase((pool) => transaction(pool, (tx) => removeService(tx, { name, by: operatorName() })));
      context.report({ name }, () => `Look-up service ${name} was removed.`);
    });
}
