import { userInfo } from 'node:os';
import { type Command, Option } from 'commander';
import type { Pool } from 'pg';
import { findAccount } from '../../identity/accounts/find.ts';
import { type CommandContext, table } from '../../platform/cli.ts';
import { findConnection } from '../../network/connections/sql.ts';
import { AppError, invalidFields } from '../../platform/errors.ts';
import { settleUnknown, VERDICTS, type Verdict } from './settle.ts';
import { listUnknowns, type Unknown } from './sql.ts';

type Flags = { readonly account?: string; readonly connection?: string; readonly limit: number };

/** Registers `unknown list` and `unknown settle`. */
export function registerUnknownCommands(program: Command, context: CommandContext): void {
  const unknown = program
    .command('unknown')
    .description('messages whose submit was never answered, or that may have been revoked at their network');

  unknown
    .command('list')
    .option('--account <account>', 'name or id')
    .option('--connection <name>', 'only this connection')
    .option('--limit <n>', 'maximum number of messages', Number, 1000)
    .description('list open unknown outcomes, the oldest first')
    .action(async (flags: Flags) => context.report(await list(context, flags), showUnknowns));

  unknown
    .command('settle')
    .argument('<id>', 'message id')
    .addOption(new Option('--as <verdict>', 'what the carrier reports').choices(VERDICTS).makeOptionMandatory())
    .description('set the outcome of a message; not-sent puts it back into the queue')
    .action(async (messageId: string, { as }: { as: Verdict }) => {
      const by = userInfo().username;
      await context.withDatabase((pool) => settleUnknown(pool, { messageId, as, by }, new Date()));
      context.report({ messageId, as }, () =>
        as === 'not-sent' ? `${messageId} is queued again.` : `${messageId} is settled: ${as}.`,
      );
    });
}

function list(context: CommandContext, { account, connection, limit }: Flags): Promise<Unknown[]> {
  if (!Number.isInteger(limit) || limit < 1)
    throw invalidFields([{ field: '--limit', message: 'must be a whole number from 1' }]);
  return context.withDatabase(async (pool) =>
    listUnknowns(pool, {
      accountId: account === undefined ? null : (await findAccount(pool, { reference: account })).id,
      connectionId: connection === undefined ? null : await connectionIdOf(pool, connection),
      limit,
    }),
  );
}

async function connectionIdOf(pool: Pool, name: string): Promise<number> {
  const connection = await findConnection(pool, { name });
  if (!connection) throw new AppError('not_found', { message: `There is no connection ${name}` });
  return connection.id;
}

const showUnknowns = (rows: readonly Unknown[]): string =>
  table(
    ['message', 'account', 'connection', 'destination', 'sender', 'parts', 'since', 'reason'],
    rows.map((u) => [
      u.messageId,
      u.account,
      u.connection ?? `#${u.connectionId}`,
      u.destination,
      u.sender,
      u.parts,
      u.since.toISOString(),
      u.reason,
    ]),
  );
