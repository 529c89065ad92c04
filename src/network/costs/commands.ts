import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { operatorName } from '../../identity/audit/record.ts';
import { type CommandContext, table } from '../../platform/cli.ts';
import { transaction } from '../../platform/db/transaction.ts';
import { AppError } from '../../platform/errors.ts';
import { fromMicros } from '../../platform/lib/money.ts';
import { importCosts, removeCost, setCost } from './change.ts';
import { readCostFile } from './read-cost-file.ts';
import { listCosts } from './sql.ts';

type Flags = { readonly connection: string; readonly prefix: string; readonly network?: string };

/**
 * Registers `cost set`, `list`, `remove` and `import` for the charges of carriers. A running program follows
 * immediately.
 */
export function registerCostCommands(program: Command, context: CommandContext): void {
  const cost = program.command('cost').description('charges of carriers');
  const connection = ['--connection <name>', 'name of the connection'] as const;
  const prefix = [
    '--prefix <digits>',
    'leading digits without the plus; the longest matching prefix is used',
    '',
  ] as const;
  const network = ['--network <digits>', 'MCC and MNC, such as 22201; goes before a cost without a network'] as const;
  const at = ({ network: of = null, ...rest }: Omit<Flags, 'network'> & { network?: string | null }) => ({
    ...rest,
    network: of,
    by: operatorName(),
  });

  cost
    .command('set')
    .description('set the charge of the carrier of a connection')
    .requiredOption(...connection)
    .option(...prefix)
    .option(...network)
    .requiredOption('--price <amount>', 'per part for SMS, otherwise per message; for example 0.012', Number)
    .action(async ({ price, ...flags }: Flags & { price: number }) => {
      await context.withDatabase((pool) => transaction(pool, (tx) => setCost(tx, { ...at(flags), price })));
      context.report({ set: true }, () => 'The cost is set.');
    });

  cost
    .command('list')
    .description('show the charges of carriers')
    .action(async () => context.report(await context.withDatabase(listCosts), describe));

  cost
    .command('remove')
    .description('remove a cost')
    .requiredOption(...connection)
    .option(...prefix)
    .option(...network)
    .action(async (flags: Flags) => {
      await context.withDatabase((pool) => transaction(pool, (tx) => removeCost(tx, at(flags))));
      context.report({ removed: true }, () => 'The cost was removed.');
    });

  cost
    .command('import')
    .argument('<file>', 'CSV with the columns prefix and/or network (or mcc and mnc), and price')
    .requiredOption(...connection)
    .option('--replace', 'remove the costs of the connection that are not in the file')
    .description("import a carrier's price list (all or nothing)")
    .action(async (file: string, { connection: name, replace = false }: { connection: string; replace?: boolean }) => {
      const costs = readCostFile(await readText(file));
      const input = { connection: name, replace, costs, by: operatorName() };
      const counts = await context.withDatabase((pool) => transaction(pool, (tx) => importCosts(tx, input)));
      context.report(counts, ({ set }) => `${set} costs were set.`);
    });
}

const describe = (costs: Awaited<ReturnType<typeof listCosts>>): string =>
  table(
    ['connection', 'prefix', 'network', 'cost'],
    costs.map((c) => [c.connection, c.prefix || '(all)', c.network ?? '(any)', fromMicros(c.unitMicros)]),
  );

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw new AppError('invalid', { message: `Cannot read ${file}`, cause });
  }
}
