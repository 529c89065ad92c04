import type { Command } from 'commander';
import { findAccount } from '../../identity/accounts/find.ts';
import { operatorAuthor } from '../../identity/audit/record.ts';
import type { CommandContext } from '../../platform/cli.ts';
import { transaction } from '../../platform/db/transaction.ts';
import { AppError } from '../../platform/errors.ts';
import { fromMicros } from '../../platform/lib/money.ts';
import { addCredit } from './add.ts';
import { ledgerBalances } from './show.ts';
import { type Balance, findBalance } from './sql.ts';

/** Registers `credit add` and `credit show`. */
export function registerCreditCommands(program: Command, context: CommandContext): void {
  const credit = program.command('credit').description('credit of the accounts');

  credit
    .command('add')
    .argument('<account>', 'name or id')
    .argument('<amount>', 'currency units, for example 250 or 12.5', Number)
    .option('--reference <text>', 'an invoice number or similar, stored in the ledger', '')
    .description('add credit to an account')
    .action(async (account: string, amount: number, { reference }: { reference: string }) =>
      context.report(await add(context, account, { amount, reference }), showBalance),
    );

  credit
    .command('show')
    .argument('<account>', 'name or id')
    .description('show the balance of an account, and whether it matches the ledger')
    .action(async (account: string) =>
      context.report(
        await showCredit(context, account),
        (found) =>
          `${showBalance(found)}\n${found.agrees ? 'The balance matches the ledger.' : 'THE BALANCE DOES NOT MATCH THE LEDGER.'}`,
      ),
    );
}

type Shown = {
  readonly accountId: number;
  readonly available: number;
  readonly frozen: number;
  readonly currency: string;
};

const toShown = (accountId: number, { currency, availableMicros, frozenMicros }: Balance): Shown => ({
  accountId,
  available: fromMicros(availableMicros),
  frozen: fromMicros(frozenMicros),
  currency,
});

const showBalance = ({ available, frozen, currency }: Shown): string =>
  `${available} ${currency} available, ${frozen} ${currency} frozen`;

function add(
  context: CommandContext,
  reference: string,
  credit: { amount: number; reference: string },
): Promise<Shown> {
  return context.withDatabase(async (pool) => {
    const { id: accountId } = await findAccount(pool, { reference });
    await transaction(pool, (tx) => addCredit(tx, operatorAuthor(accountId), credit));
    return toShown(accountId, await balanceOf(pool, accountId));
  });
}

async function balanceOf(pool: Parameters<typeof findBalance>[0], accountId: number): Promise<Balance> {
  const balance = await findBalance(pool, { accountId });
  if (!balance) throw new AppError('not_found', { message: 'The account has no balance' });
  return balance;
}

function showCredit(context: CommandContext, reference: string): Promise<Shown & { agrees: boolean }> {
  return context.withDatabase(async (pool) => {
    const { id: accountId } = await findAccount(pool, { reference });
    const balance = await balanceOf(pool, accountId);
    return { ...toShown(accountId, balance), agrees: await ledgerBalances(pool, { accountId }) };
  });
}
