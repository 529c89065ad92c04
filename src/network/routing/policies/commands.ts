import { type Command, Option } from 'commander';
import { operatorName } from '../../../identity/audit/record.ts';
import { type CommandContext, table } from '../../../platform/cli.ts';
import { transaction } from '../../../platform/db/transaction.ts';
import { type PolicyInput, removePolicy, setPolicy } from './change.ts';
import { listPolicies, POLICIES, type Policy } from './sql.ts';

/** Registers `route policy set`, `list` and `remove`. A running program follows immediately. */
export function registerPolicyCommands(route: Command, context: CommandContext): void {
  const policy = route.command('policy').description('order of the routes of a prefix');

  policy
    .command('set')
    .description('set the order of routes: by priority, or the cheapest of those that deliver enough')
    .addOption(new Option('--channel <channel>', 'the channel').choices(['SMS']).default('SMS'))
    .option('--prefix <digits>', 'leading digits of the numbers without the plus; the longest match decides', '')
    .addOption(new Option('--policy <policy>', 'order of the routes').choices(POLICIES).makeOptionMandatory())
    .option('--floor <share>', 'minimum share of messages that must be delivered, such as 0.9 (default 0.8)', Number)
    .option('--max-receipt-seconds <n>', 'maximum seconds that receipts may take on average', Number)
    .option('--min-samples <n>', 'with fewer samples a connection is on trial (default 50)', Number)
    .option('--explore <share>', 'the share for connections on trial or below the floor (default 0.05)', Number)
    .option('--hours <n>', 'hours for which samples count (default 3)', Number)
    .action(async (flags: PolicyInput) => {
      const set = await context.withDatabase((pool) =>
        transaction(pool, (tx) => setPolicy(tx, { ...flags, by: operatorName() })),
      );
      context.report(set, (made) => `Policy ${made.id} is set: ${describePolicy(made)}.`);
    });

  policy
    .command('list')
    .description('list the policies; without one, routes are ordered by priority')
    .action(async () =>
      context.report(await context.withDatabase(listPolicies), (rows) =>
        table(
          ['id', 'channel', 'prefix', 'policy'],
          rows.map((row) => [row.id, row.channel, row.prefix || '(all)', describePolicy(row)]),
        ),
      ),
    );

  policy
    .command('remove')
    .argument('<id>')
    .description('remove a policy')
    .action(async (text: string) => {
      const id = Number(text);
      await context.withDatabase((pool) => transaction(pool, (tx) => removePolicy(tx, { id, by: operatorName() })));
      context.report({ id }, () => `Policy ${id} was removed.`);
    });
}

/** Writes a policy for people: `least cost of those that deliver 80 %, 5 % to try the others`. */
export function describePolicy({
  policy,
  minDelivered,
  maxReceiptSeconds,
  explore,
  minSamples,
  hours,
}: Policy): string {
  if (policy === 'priority') return 'by priority';
  const quick = maxReceiptSeconds === null ? '' : ` within ${maxReceiptSeconds} s`;
  const samples = `by at least ${minSamples} samples of ${hours} h`;
  return `least cost of those that deliver ${minDelivered / 10} %${quick} ${samples}, ${explore / 10} % to try the others`;
}
