import { type Command, Option } from 'commander';
import { findAccount } from '../../identity/accounts/find.ts';
import { operatorName } from '../../identity/audit/record.ts';
import { type CommandContext, table } from '../../platform/cli.ts';
import type { Db } from '../../platform/db/query.ts';
import { transaction } from '../../platform/db/transaction.ts';
import * as change from './change.ts';
import * as db from './sql.ts';

/**
 * Registers `sender-rule` and `number-pool` for the senders that SMS may have in a country. A running program follows
 * immediately.
 */
export function registerSenderRuleCommands(program: Command, context: CommandContext): void {
  const by = operatorName();
  const within = <T>(work: (tx: Db) => Promise<T>): Promise<T> =>
    context.withDatabase((pool) => transaction(pool, work));
  addRuleCommands(program, { context, within, by });
  addRegisteredCommands(program, { context, within, by });
  addPoolCommands(program, { context, within, by });
}

type Tools = {
  readonly context: CommandContext;
  readonly within: <T>(work: (tx: Db) => Promise<T>) => Promise<T>;
  readonly by: string;
};

const PREFIX = ['--prefix <digits>', 'leading digits without the plus; empty for all numbers', ''] as const;
const ACCOUNT = ['--account <account>', 'name or id of the account; all accounts without it'] as const;

type RuleFlags = {
  readonly prefix: string;
  readonly alphanumeric: db.AlphanumericPolicy;
  readonly replacement?: string;
  readonly registeredOnly?: true;
};

function addRuleCommands(program: Command, { context, within, by }: Tools): void {
  const rule = program.command('sender-rule').description('senders that SMS may have in a country');

  rule
    .command('set')
    .description('set the rule for numbers with a prefix')
    .option(...PREFIX)
    .addOption(
      new Option('--alphanumeric <policy>', 'action for senders with letters that are not registered')
        .choices([...db.ALPHANUMERIC_POLICIES])
        .makeOptionMandatory(),
    )
    .option('--replacement <sender>', 'a sender or pool:NAME, instead of senders that do not pass')
    .option('--registered-only', 'numbers too pass only if they are registered')
    .action(async ({ prefix, alphanumeric, replacement, registeredOnly }: RuleFlags) => {
      const input = { prefix, alphanumeric, replacement: replacement ?? null, registeredOnly: registeredOnly === true };
      context.report(await within((tx) => change.setSenderRule(tx, { ...input, by })), () => 'The rule is set.');
    });

  rule
    .command('list')
    .description('list the rules')
    .action(async () =>
      context.report(await context.withDatabase(db.listRules), (rows) =>
        table(
          ['id', 'prefix', 'alphanumeric', 'replacement', 'numbers'],
          rows.map((r) => [
            r.id,
            r.prefix || '(all)',
            r.alphanumeric,
            r.replacement ?? '',
            r.registeredOnly ? 'registered' : 'allowed',
          ]),
        ),
      ),
    );

  rule
    .command('remove')
    .argument('<id>')
    .description('remove a rule')
    .action(async (id: string) => {
      await within((tx) => change.removeSenderRule(tx, { id: Number(id), by }));
      context.report({ removed: true }, () => 'The rule was removed.');
    });
}

type RegisteredFlags = { readonly prefix: string; readonly sender: string; readonly account?: string };

function addRegisteredCommands(program: Command, { context, within, by }: Tools): void {
  const registered = program.command('registered-sender').description('senders that were registered in a country');

  registered
    .command('add')
    .description('record a sender registration for numbers with a prefix')
    .option(...PREFIX)
    .requiredOption('--sender <sender>', 'the sender as it is sent')
    .option(...ACCOUNT)
    .action(async ({ account, ...entry }: RegisteredFlags) => {
      const made = await within(async (tx) =>
        change.addRegistered(tx, { ...entry, ownerId: await ownerOf(tx, account), by }),
      );
      context.report(made, () => `${made.sender} is registered.`);
    });

  registered
    .command('list')
    .description('list the registered senders')
    .action(async () =>
      context.report(await context.withDatabase(db.listRegistered), (rows) =>
        table(
          ['id', 'prefix', 'sender', 'account'],
          rows.map((r) => [r.id, r.prefix || '(all)', r.sender, r.account ?? '(all accounts)']),
        ),
      ),
    );

  registered
    .command('remove')
    .argument('<id>')
    .description('remove a sender from the list')
    .action(async (id: string) => {
      await within((tx) => change.removeRegistered(tx, { id: Number(id), by }));
      context.report({ removed: true }, () => 'The sender was removed from the list.');
    });
}

function addPoolCommands(program: Command, { context, within, by }: Tools): void {
  const pool = program
    .command('number-pool')
    .description('pools of numbers, of which each recipient gets messages from one; send as pool:NAME');

  pool
    .command('add')
    .argument('<name>')
    .argument('<numbers...>')
    .option(...ACCOUNT)
    .description('make a pool, of an account or of all')
    .action(async (name: string, numbers: string[], { account }: { account?: string }) => {
      const made = await within(async (tx) =>
        change.addPool(tx, { name, numbers, ownerId: await ownerOf(tx, account), by }),
      );
      context.report(made, () => `Pool ${name} has the id ${made.id}.`);
    });

  pool
    .command('list')
    .description('list the pools with their numbers')
    .action(async () =>
      context.report(await context.withDatabase(db.listPools), (rows) =>
        table(
          ['id', 'name', 'account', 'numbers'],
          rows.map((p) => [p.id, p.name, p.account ?? '(all accounts)', p.numbers.join(' ')]),
        ),
      ),
    );

  pool
    .command('add-number')
    .argument('<id>')
    .argument('<number>')
    .description('add a number; recipients who know another one keep it')
    .action(async (id: string, number: string) => {
      const added = await within((tx) => change.addPoolNumber(tx, { id: Number(id), number, by }));
      context.report(
        added,
        ({ kept }) => `${number} is in the pool; ${kept} recipients keep the number that they know.`,
      );
    });

  pool
    .command('remove-number')
    .argument('<id>')
    .argument('<number>')
    .description('remove a number; its recipients get another one')
    .action(async (id: string, number: string) => {
      await within((tx) => change.removePoolNumber(tx, { id: Number(id), number, by }));
      context.report({ removed: true }, () => `${number} was removed from the pool.`);
    });

  pool
    .command('remove')
    .argument('<id>')
    .description('remove a pool; messages from it are rejected')
    .action(async (id: string) => {
      await within((tx) => change.removePool(tx, { id: Number(id), by }));
      context.report({ removed: true }, () => 'The pool was removed.');
    });
}

const ownerOf = async (tx: Db, account: string | undefined): Promise<number | null> =>
  account === undefined ? null : (await findAccount(tx, { reference: account })).id;
