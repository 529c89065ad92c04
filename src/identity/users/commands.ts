import type { Command } from 'commander';
import type { Pool } from 'pg';
import { operatorAuthor } from '../audit/record.ts';
import { type CommandContext, table } from '../../platform/cli.ts';
import { transaction } from '../../platform/db/transaction.ts';
import { AppError } from '../../platform/errors.ts';
import { changeOperator } from './change.ts';
import { findUserByUsername, listOperators, type OperatorRow } from './sql.ts';

/** Registers `operator grant`, `operator revoke` and `operator list`. */
export function registerOperatorCommands(program: Command, context: CommandContext): void {
  const operator = program.command('operator').description('users who may manage all accounts in the console');
  const add = (name: string, description: string, isOperator: boolean): void =>
    void operator
      .command(name)
      .argument('<username>', 'username of a user of any account')
      .description(description)
      .action(async (username: string) =>
        context.report(await context.withDatabase((pool) => change(pool, username, isOperator)), showChanged),
      );
  add('grant', 'make a user an operator; applies from their next request', true);
  add('revoke', 'remove the operator right of a user; applies from their next request', false);
  operator
    .command('list')
    .description('list all operators')
    .action(async () => context.report(await context.withDatabase(listOperators), showOperators));
}

async function change(pool: Pool, username: string, isOperator: boolean): Promise<OperatorRow> {
  const user = await findUserByUsername(pool, { username });
  if (!user) throw new AppError('not_found', { message: `There is no user ${username}` });
  const { id, accountId } = user;
  await transaction(pool, (tx) => changeOperator(tx, operatorAuthor(accountId), { id, isOperator }));
  return { ...user, isOperator };
}

const showChanged = ({ username, isOperator }: OperatorRow): string =>
  `${username} is ${isOperator ? 'now' : 'no longer'} an operator of the gateway.`;

const showOperators = (operators: readonly OperatorRow[]): string =>
  table(
    ['id', 'username', 'account'],
    operators.map(({ id, username, accountId, accountName }) => [id, username, `${accountName} (${accountId})`]),
  );
