import type { Command } from 'commander';
import type { CommandContext } from '../../platform/cli.ts';
import { transaction } from '../../platform/db/transaction.ts';
import { findAccount } from '../accounts/find.ts';
import { operatorAuthor } from '../audit/record.ts';
import { makeOptional, removeSettings } from './change.ts';

/** Registers `single-sign-on optional` and `single-sign-on remove`, for accounts that no user can sign in to. */
export function registerSingleSignOnCommands(program: Command, context: CommandContext): void {
  const command = program.command('single-sign-on').description('single sign-on of accounts (OpenID Connect)');
  command
    .command('optional')
    .argument('<account>', 'name or id')
    .description('let passwords sign in again, for an account whose provider fails')
    .action(async (reference: string) =>
      context.report(
        await change(context, reference, (tx, author) => makeOptional(tx, author)),
        ({ name }) => `Passwords sign in to ${name}.`,
      ),
    );
  command
    .command('remove')
    .argument('<account>', 'name or id')
    .description('remove the settings, for example to free a short name or a mail domain; the users stay')
    .action(async (reference: string) =>
      context.report(
        await change(context, reference, (tx, author) => removeSettings(tx, author)),
        ({ name }) => `${name} has no single sign-on.`,
      ),
    );
}

type Work = (tx: Parameters<typeof removeSettings>[0], author: ReturnType<typeof operatorAuthor>) => Promise<unknown>;

const change = (context: CommandContext, reference: string, work: Work) =>
  context.withDatabase(async (pool) => {
    const { id: accountId, name } = await findAccount(pool, { reference });
    await transaction(pool, (tx) => work(tx, operatorAuthor(accountId)));
    return { accountId, name };
  });
