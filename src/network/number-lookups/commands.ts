import type { Command } from 'commander';
import { operatorName } from '../../identity/audit/record.ts';
import { LOOKUP_PRESET_NAMES } from '../../carriers/number-lookup/presets.ts';
import { type CommandContext, table } from '../../platform/cli.ts';
import { transaction } from '../../platform/db/transaction.ts';
import { fromMicros } from '../../platform/lib/money.ts';
import { createGuard } from '../../platform/outbound/guard.ts';
import { addSecretOption } from '../../platform/secret-input.ts';
import { loadSecretKey } from '../../platform/secret-key.ts';
import { divideSettings } from '../connections/adding/read-settings.ts';
import { addService, removeService, testService } from './services.ts';
import { listCounts, listServices } from './sql.ts';

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
