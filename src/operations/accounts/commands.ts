import { type Command, Option } from 'commander';
import { changeStatus } from '../../identity/accounts/change-status.ts';
import { findAccount } from '../../identity/accounts/find.ts';
import { registerNumbersCommand } from '../../identity/accounts/numbers/commands.ts';
import { registerSecurityCommands } from '../../identity/accounts/security/commands.ts';
import { registerSecondFactorCommands } from '../../identity/second-factors/commands.ts';
import { type AccountRow, type AccountStatus, listAccounts } from '../../identity/accounts/sql.ts';
import { operatorAuthor } from '../../identity/audit/record.ts';
import { type CommandContext, table } from '../../platform/cli.ts';
import { transaction } from '../../platform/db/transaction.ts';
import { invalidFields } from '../../platform/errors.ts';
import { toMicros } from '../../platform/lib/money.ts';
import { type Plan, PLANS } from '../../platform/lib/plan.ts';
import { registerChannelsCommand } from '../subscription/commands.ts';
import { createAccount, type NewAccount } from './create.ts';

/** `account create`, `list`, `suspend` and `resume`, with the commands for phone numbers, security and channels. */
export function registerAccountCommands(program: Command, context: CommandContext): void {
  const account = program.command('account').description('accounts (tenants) of this gateway');
  const plan = new Option('--plan <plan>', 'plan of the account').choices(PLANS).default('production');

  account
    .command('create')
    .description('create an account with an admin and an API key; shows the credentials once')
    .requiredOption('--name <name>', 'name of the account')
    .option('--credit <amount>', 'initial credit, in currency units', Number, 0)
    .addOption(plan)
    .option('--operator', 'make its admin a gateway operator')
    .action(async ({ credit, ...options }: CreateOptions) => {
      const creditMicros = toMicros(credit);
      if (creditMicros === null || creditMicros < 0)
        throw invalidFields([{ field: '--credit', message: 'must be 0 or more, with at most 6 decimals' }]);
      const created = context.withDatabase((pool) => createAccount(pool, { ...options, creditMicros }));
      context.report(await created, showNewAccount);
    });

  account
    .command('list')
    .description('list all accounts')
    .action(async () => context.report(await context.withDatabase(listAccounts), showAccounts));

  addStatusCommand(account, context, { verb: 'suspend', from: 'active', to: 'suspended' });
  addStatusCommand(account, context, { verb: 'resume', from: 'suspended', to: 'active' });
  registerNumbersCommand(account, context);
  registerSecurityCommands(account, context);
  registerSecondFactorCommands(account, context);
  registerChannelsCommand(account, context);
}

type CreateOptions = { name: string; plan: Plan; credit: number; operator?: true };
type StatusCommand = { verb: string; from: AccountStatus; to: AccountStatus };

/** Suspending an account that is already suspended is not an error. */
function addStatusCommand(account: Command, context: CommandContext, { verb, from, to }: StatusCommand): void {
  account
    .command(verb)
    .argument('<account>', 'name or id')
    .description(`set an account to ${to}, effective with its next request`)
    .action(async (reference: string) => {
      const changed = await context.withDatabase(async (pool) => {
        const { id, name } = await findAccount(pool, { reference });
        await transaction(pool, (tx) => changeStatus(tx, operatorAuthor(id), { from, to }));
        return { accountId: id, name, status: to };
      });
      context.report(changed, ({ name, status }) => `The account ${name} is ${status}.`);
    });
}

const showNewAccount = ({ accountId, name, apiKey, username, password }: NewAccount): string =>
  [
    `Account ${name} (id ${accountId}). Save these credentials now; they are not shown again:`,
    `  API key   ${apiKey}`,
    `  username  ${username}`,
    `  password  ${password}`,
  ].join('\n');

const placeOf = ({ away, cell }: AccountRow): string =>
  away === null ? 'here' : `${away === 'held' ? 'on its way to' : 'in'} cell ${cell}`;

const showAccounts = (accounts: readonly AccountRow[]): string =>
  table(
    ['id', 'name', 'status', 'plan', 'created', 'served'],
    accounts.map((account) => {
      const { id, name, status, plan, createdAt } = account;
      return [id, name, status, plan, createdAt.toISOString(), placeOf(account)];
    }),
  );
