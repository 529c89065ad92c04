import type { Command } from 'commander';
import type { Pool } from 'pg';
import { operatorAuthor } from '../audit/record.ts';
import type { CommandContext } from '../../platform/cli.ts';
import { transaction } from '../../platform/db/transaction.ts';
import { AppError } from '../../platform/errors.ts';
import { findUserByUsername } from '../users/sql.ts';
import { removeAllFactors } from './change.ts';

/** Registers `account remove-second-factors`. */
export function registerSecondFactorCommands(account: Command, context: CommandContext): void {
  account
    .command('remove-second-factors')
    .argument('<username>', 'username of a user of any account')
    .description('remove all second factors of a user who has lost them, and end the sessions of that user')
    .action(async (username: string) =>
      context.report(await context.withDatabase((pool) => removeFactors(pool, username)), showRemoved),
    );
}

async function removeFactors(pool: Pool, username: string): Promise<{ username: string; accountId: number }> {
  const user = await findUserByUsername(pool, { username });
  if (!user) throw new AppError('not_found', { message: `There is no user ${username}` });
  const { id: userId, accountId } = user;
  await transaction(pool, (tx) => removeAllFactors(tx, operatorAuthor(accountId), { userId }));
  return { username, accountId };
}

const showRemoved = ({ username }: { username: string }): string =>
  `${username} has no second factors any more and can sign in with the password alone.`;
