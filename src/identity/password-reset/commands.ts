import type { Command } from 'commander';
import { type CommandContext } from '../../platform/cli.ts';
import { transaction } from '../../platform/db/transaction.ts';
import { AppError } from '../../platform/errors.ts';
import { operatorAuthor, recordAudit } from '../audit/record.ts';
import { findUserByUsername } from '../users/sql.ts';
import { createResetLink } from './link.ts';

/** Registers `user reset-link`, below the command `user`. */
export function registerResetCommands(user: Command, context: CommandContext): void {
  user
    .command('reset-link')
    .argument('<username>', 'username of a user of any account')
    .description('print a link with which the user may choose a new password, once, within one hour')
    .action(async (username: string) => {
      context.report(await makeLink(context, username), ({ link }) => `${link}\nThe link works once, within one hour.`);
      context.warnIfLocal('The link');
    });
}

const makeLink = (context: CommandContext, username: string) =>
  context.withDatabase(async (pool) => {
    const user = await findUserByUsername(pool, { username });
    if (!user) throw new AppError('not_found', { message: `There is no user ${username}` });
    const { id: userId, accountId } = user;
    return transaction(pool, async (tx) => {
      const { link, expiresAt } = await createResetLink(tx, context.config(), { accountId, userId });
      const event = { action: 'user.reset-link', subject: `user:${userId}`, detail: { username } };
      await recordAudit(tx, operatorAuthor(accountId), event);
      return { username, link, expiresAt: expiresAt.toISOString() };
    });
  });
