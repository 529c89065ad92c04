import { type Command, Option } from 'commander';
import { operatorAuthor } from '../../identity/audit/record.ts';
import { type CommandContext, table } from '../../platform/cli.ts';
import { transaction } from '../../platform/db/transaction.ts';
import { invalidFields } from '../../platform/errors.ts';
import type { Plan } from '../../platform/lib/plan.ts';
import { toMicros } from '../../platform/lib/money.ts';
import { createAccount, type NewAccount } from './create.ts';
import { changeStatus } from '../../identity/accounts/change-status.ts';
import { findAccount } from '../../identity/accounts/find.ts';
import { registerChannelsCommand } from '../subscription/commands.ts';
import { PLANS } from '../../platform/lib/plan.ts';
import { registerSecurityCommands } from '../../identity/accounts/security/commands.ts';
import { type AccountRow, type AccountStatus, listAccounts } from '../../identity/accounts/sql.ts';

/** `account create`, `list`, `suspend` and `resume`, and those of security/ and subscription/. */
export function registerAccountCommands(program: Command, context: CommandContext): void {
  const account = program.command('account').description('accounts (tenants) of this gateway');
  const plan = new Option('--plan <plan>', 'plan of the account').choices(PLANS).default('production');

  account
    .command('create')
    .description('create an account with its owner and an API key; shows the credentials once')
    .requiredOption('--name <name>', 'name of the account')
    .option('--credit <amount>', 'initial credit, in currency units', Number, 0)
    .addOption(plan)
    .option('--operator', 'make its owner a gateway operator')
    .action(async ({ credit, ...options }: CreateOptions) => {
      const creditMicros = toMicros(credit);
      if (creditMicros === null || creditMicros < 0)
        throw invalidFields([{ field: '--credit', message: 'must be an amount from 0 with at most 6 decimals' }]);
      const created = context.withDatabase((pool) => createAccount(pool, { ...options, creditMicros }));
      context.report(await created, showNewAccount);
    });

  account
    .command('list')
    .description('list all accounts')
    .action(async () => context.report(await context.withDatabase(listAccounts), showAccounts));

  addStatusCommand(account, context, { verb: 'suspend', from: 'active', to: 'suspended' });
  addStatusCommand(account, context, { verb: 'resume', from: 'suspended', to: 'active' });
  registerSecurityCommands(account, context);
  registerChannelsCommand(account, context);
}

type CreateOptions = { name: string; plan: Plan; credit: number; operator?: true };
type StatusCommand = { verb: string; from: AccountStatus; to: AccountStatus };

/** Suspending one that is suspended already is no error. */
function addStatusCommand(account: Command, context: CommandContext, { verb, from, to }: StatusCommand): void {
  account
    .command(verb)
    .argument('<account>', 'name or id')
    .description(`set an account to ${to}; applies from its next request`)
    .action(async (reference: string) => {
      const changed = await context.withDatabase(async (pool) => {
        const { id, name } = await findAccount(pool, { reference });
        await transaction(pool, (tx) => changeStatus(tx, operatorAuthor(id), { from, to }));
        return { accountId: id, name, status: to };
      });
      context.report(changed, ({ name, status }) => `Account ${name} is ${status}.`);
    });
}

const showNewAccount = ({ accountId, name, apiKey, username, password }: NewAccount): string =>
  [
    `Account ${name} (id ${accountId}). Save these credentials now, they are not shown again:`,
    `  API key   ${apiKey}`,
    `  username  ${username}`,
    `  password  ${password}`,
  ].join('\n');

const showAccounts = (accounts: readonly AccountRow[]): string =>
  table(
    ['ID', 'NAME', 'STATUS', 'PLAN', 'CREATED'],
    accounts.map(({ id, name, status, plan, createdAt }) => [id, name, status, plan, createdAt.toISOString()]),
  );
