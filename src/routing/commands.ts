import { type Command, Option } from 'commander';
import { type CommandContext, table } from '../cli.ts';
import { findConnection } from '../connections/sql.ts';
import type { OnUnknown } from '../dispatch/sql.ts';
import { AppError, invalidFields } from '../errors.ts';
import type { Channel } from '../lib/channel.ts';
import { deleteRoute, insertRoute, listRoutes, notifyRoutes } from './sql.ts';

type Flags = { channel: Channel; prefix: string; connection: string; priority: number; onUnknown: OnUnknown };

/** `route add`, `list` and `remove`. A running program follows at once. */
export function registerRouteCommands(program: Command, context: CommandContext): void {
  const route = program.command('route').description('which connection takes which numbers');

  route
    .command('add')
    .description('send the numbers with this prefix over this connection; adding again changes the rest')
    .addOption(
      new Option('--channel <channel>', 'SMS; on RCS and WhatsApp the sender decides')
        .choices(['SMS'])
        .makeOptionMandatory(),
    )
    .option('--prefix <digits>', 'leading digits without the plus; the longest fitting one decides', '')
    .requiredOption('--connection <name>', 'name of the connection')
    .option('--priority <n>', 'lower goes first among equal prefixes; the next ones are for when it fails', Number, 100)
    .addOption(
      new Option(
        '--on-unknown <policy>',
        'of single sends without an answer: keep them for a receipt, or send them twice',
      )
        .choices(['hold', 'resubmit'])
        .default('hold'),
    )
    .action(async (flags: Flags) =>
      context.report(await addRoute(context, flags), ({ id }) => `Route ${id} is in force.`),
    );

  route
    .command('list')
    .description('all routes; of a prefix the first is taken, the others in their order when it fails')
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
      await context.withDatabase(async (pool) => {
        if (!Number.isSafeInteger(id) || (await deleteRoute(pool, { id })) === 0)
          throw new AppError('not_found', { message: `There is no route ${text}` });
        await notifyRoutes(pool);
      });
      context.report({ id }, () => `Route ${id} was removed.`);
    });
}

function addRoute(
  context: CommandContext,
  { channel, prefix, connection: name, priority, onUnknown }: Flags,
): Promise<{ id: number }> {
  if (!/^\d{0,15}$/.test(prefix)) throw invalidFields([{ field: '--prefix', message: 'must be up to 15 digits' }]);
  if (!Number.isInteger(priority)) throw invalidFields([{ field: '--priority', message: 'must be a whole number' }]);
  return context.withDatabase(async (pool) => {
    const connection = await findConnection(pool, { name });
    if (!connection) throw new AppError('not_found', { message: `There is no connection ${name}` });
    const route = await insertRoute(pool, { channel, prefix, connectionId: connection.id, priority, onUnknown });
    await notifyRoutes(pool);
    return route;
  });
}
