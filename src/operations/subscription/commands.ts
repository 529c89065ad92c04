import { type Command, Option } from 'commander';
import type { Pool } from 'pg';
import { findAccount } from '../../identity/accounts/find.ts';
import { operatorAuthor } from '../../identity/audit/record.ts';
import type { CommandContext } from '../../platform/cli.ts';
import { transaction } from '../../platform/db/transaction.ts';
import { type Channel, CHANNELS, toChannels } from '../../platform/lib/channel.ts';
import { changeChannels } from './change.ts';
import { findChannels } from './sql.ts';

/** `account channels`: shows or sets the channels in the plan of an account. */
export function registerChannelsCommand(account: Command, context: CommandContext): void {
  const set = new Option('--set <channels...>', 'the channels that it may use from its next request on').choices(
    CHANNELS,
  );
  account
    .command('channels')
    .argument('<account>', 'name or id')
    .addOption(set)
    .description('set the channels in the plan of an account; without options, show them')
    .action(async (reference: string, options: { set?: Channel[] }) =>
      context.report(await context.withDatabase((pool) => channelsOf(pool, reference, options.set)), show),
    );
}

function channelsOf(pool: Pool, reference: string, channels: readonly Channel[] | undefined): Promise<Shown> {
  return transaction(pool, async (tx) => {
    const { id: accountId, name } = await findAccount(tx, { reference });
    if (channels) await changeChannels(tx, operatorAuthor(accountId), { channels });
    return { accountId, name, channels: toChannels(await findChannels(tx, { accountId })) };
  });
}

type Shown = { readonly accountId: number; readonly name: string; readonly channels: readonly Channel[] };

const show = ({ name, channels }: Shown): string => `The plan of ${name} includes ${channels.join(', ')}.`;
