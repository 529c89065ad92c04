import { type Command, Option } from 'commander';
import { type CommandContext, table } from '../cli.ts';
import { AppError, invalidFields } from '../errors.ts';
import { type Channel, CHANNELS } from '../lib/channel.ts';
import { fromMicros, toMicros } from '../lib/money.ts';
import { notifyRoutes } from '../routing/sql.ts';
import { deletePrice, insertPrice, listPrices } from './sql.ts';

type Flags = { channel: Channel; prefix: string; price: number; refundUndelivered?: true };

/** `price set`, `list` and `remove`. A running program follows at once. */
export function registerPriceCommands(program: Command, context: CommandContext): void {
  const price = program.command('price').description('what messages cost');
  const channel = (): Option => new Option('--channel <channel>', 'channel').choices(CHANNELS).makeOptionMandatory();
  const prefix = ['--prefix <digits>', 'leading digits without the plus; the longest fitting one decides', ''] as const;

  price
    .command('set')
    .description('set the price of a channel and prefix')
    .addOption(channel())
    .option(...prefix)
    .requiredOption('--price <amount>', 'per part on SMS, per message elsewhere; for example 0.035', Number)
    .option('--refund-undelivered', 'give the price back when the message is not delivered')
    .action(async (flags: Flags) => context.report(await setPrice(context, flags), () => 'The price is in force.'));

  price
    .command('list')
    .description('the price list')
    .action(async () =>
      context.report(await context.withDatabase(listPrices), (rows) =>
        table(
          ['channel', 'prefix', 'price', 'undelivered'],
          rows.map((p) => [
            p.channel,
            p.prefix || '(all)',
            fromMicros(p.unitMicros),
            p.refundUndelivered ? 'refunded' : 'charged',
          ]),
        ),
      ),
    );

  price
    .command('remove')
    .description('remove a price; messages without any price are refused')
    .addOption(channel())
    .option(...prefix)
    .action(async (flags: Pick<Flags, 'channel' | 'prefix'>) => {
      await context.withDatabase(async (pool) => {
        if ((await deletePrice(pool, flags)) === 0)
          throw new AppError('not_found', { message: 'There is no such price' });
        await notifyRoutes(pool);
      });
      context.report({ removed: true }, () => 'The price was removed.');
    });
}

function setPrice(
  context: CommandContext,
  { channel, prefix, price, refundUndelivered }: Flags,
): Promise<{ id: number }> {
  const unitMicros = toMicros(price);
  if (unitMicros === null || unitMicros < 0)
    throw invalidFields([{ field: '--price', message: 'must be an amount from 0 with at most 6 decimals' }]);
  if (!/^\d{0,15}$/.test(prefix)) throw invalidFields([{ field: '--prefix', message: 'must be up to 15 digits' }]);
  return context.withDatabase(async (pool) => {
    const row = await insertPrice(pool, { channel, prefix, unitMicros, refundUndelivered: refundUndelivered ?? false });
    await notifyRoutes(pool);
    return row;
  });
}
