import { type Command, Option } from 'commander';
import { operatorName } from '../../identity/audit/record.ts';
import { type CommandContext, table } from '../../platform/cli.ts';
import { transaction } from '../../platform/db/transaction.ts';
import { type Channel, CHANNELS } from '../../platform/lib/channel.ts';
import { fromMicros } from '../../platform/lib/money.ts';
import { removePrice, setPrice } from './change.ts';
import { listPrices } from './sql.ts';

type Flags = { channel: Channel; prefix: string; price: number; refundUndelivered?: boolean };

/** Registers `price set`, `list` and `remove`. A running program follows immediately. */
export function registerPriceCommands(program: Command, context: CommandContext): void {
  const price = program.command('price').description('prices of messages');
  const channel = (): Option => new Option('--channel <channel>', 'channel').choices(CHANNELS).makeOptionMandatory();
  const prefix = [
    '--prefix <digits>',
    'leading digits without the plus; the longest matching prefix is used',
    '',
  ] as const;

  price
    .command('set')
    .description('set the price for a channel and prefix')
    .addOption(channel())
    .option(...prefix)
    .requiredOption('--price <amount>', 'per part for SMS, otherwise per message; for example 0.035', Number)
    .option('--refund-undelivered', 'return the price if the message is not delivered')
    .action(async (flags: Flags) => context.report(await set(context, flags), () => 'The price is set.'));

  price
    .command('list')
    .description('show the price list')
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
    .description('remove a price; messages without any price are rejected')
    .addOption(channel())
    .option(...prefix)
    .action(async (flags: Pick<Flags, 'channel' | 'prefix'>) => {
      const place = { channel: flags.channel, prefix: flags.prefix, by: operatorName() };
      await context.withDatabase((pool) => transaction(pool, (tx) => removePrice(tx, place)));
      context.report({ removed: true }, () => 'The price was removed.');
    });
}

async function set(context: CommandContext, { refundUndelivered = false, ...flags }: Flags): Promise<{ id: number }> {
  const input = { ...flags, refundUndelivered, by: operatorName() };
  const { id } = await context.withDatabase((pool) => transaction(pool, (tx) => setPrice(tx, input)));
  return { id };
}
