import { type Command, Option } from 'commander';
import { operatorName } from '../../identity/audit/record.ts';
import { type CommandContext, table } from '../../platform/cli.ts';
import { transaction } from '../../platform/db/transaction.ts';
import { addRoute, removeRoute, type RouteInput } from './change.ts';
import { listRoutes } from './sql.ts';

type Flags = RouteInput;

/** `route add`, `list` and `remove`. A running program follows at once. */
export function registerRouteCommands(program: Command, context: CommandContext): void {
  const route = program.command('route').description('which connections are used for which numbers');

  route
    .command('add')
    .description('route numbers with this prefix to a connection; adding it again changes the other options')
    .addOption(
      new Option('--channel <channel>', 'SMS; on RCS and WhatsApp the sender determines the connection')
        .choices(['SMS'])
        .makeOptionMandatory(),
    )
    .option('--prefix <digits>', 'leading digits without the plus; the longest matching prefix is used', '')
    .requiredOption('--connection <name>', 'name of the connection')
    .option('--priority <n>', 'among equal prefixes the lowest is used first, the others for failover', Number, 100)
    .addOption(
      new Option(
        '--on-unknown <policy>',
        'for single sends without a response: wait for a receipt, or send them once more',
      )
        .choices(['hold', 'resubmit'])
        .default('hold'),
    )
    .action(async (flags: Flags) => context.report(await add(context, flags), ({ id }) => `Route ${id} was added.`));

  route
    .command('list')
    .description('list all routes; for each prefix the first is used, the others for failover in their order')
    .action(async () =>
      context.report(await context.withDatabase(listRoutes), (rows) =>
        table(
          ['id', 'channel', 'prefix', 'order', 'connection', 'priority', 'on unknown'],
          rows.map((r) => [r.id, r.channel, r.prefix || '(all)', r.order, r.connection, r.priority, r.onUnknown]),
        ),
      ),
    );

  route
    .command('remove')
    .argument('<id>')
    .description('remove a route')
    .action(async (text: string) => {
      const id = Number(text);
      await context.withDatabase((pool) => transaction(pool, (tx) => removeRoute(tx, { id, by: operatorName() })));
      context.report({ id }, () => `Route ${id} was removed.`);
    });
}

const add = (context: CommandContext, { channel, prefix, connection, priority, onUnknown }: Flags) =>
  context.withDatabase((pool) =>
    transaction(pool, (tx) => addRoute(tx, { channel, prefix, connection, priority, onUnknown, by: operatorName() })),
  );
