import type { Command } from 'commander';
import type { Pool } from 'pg';
import { operatorOf } from '../audit/record.ts';
import { type CommandContext, table } from '../../platform/cli.ts';
import { transaction } from '../../platform/db/transaction.ts';
import { AppError } from '../../platform/errors.ts';
import { changeOperator } from './change-operator.ts';
import { findUserNamed, listOperators, type OperatorRow } from './sql.ts';

/** `operator grant`, `operator revoke` and `operator list`. */
export function registerOperatorCommands(program: Command, context: CommandContext): void {
  const operator = program.command('operator').description('the people who may see to all accounts, at the console');
  const add = (name: string, description: string, isOperator: boolean): void =>
    void operator
      .command(name)
      .argument('<username>', 'of a person of any account')
      .description(description)
      .action(async (username: string) =>
        context.report(await context.withDatabase((pool) => change(pool, username, isOperator)), showChanged),
      );
  add('grant', 'make a person an operator; their next request sees it', true);
  add('revoke', 'take it from a person; their next request sees it', false);
  operator
    .command('list')
    .description('all operators')
    .action(async () => context.report(await context.withDatabase(listOperators), showOperators));
}

async function change(pool: Pool, username: string, isOperator: boolean): Promise<OperatorRow> {
  const user = await findUserNamed(pool, { username });
  if (!user) throw new AppError('not_found', { message: `There is no user ${username}` });
  const { id, accountId } = user;
  await transaction(pool, (tx) => changeOperator(tx, operatorOf(accountId), { id, isOperator }));
  return { ...user, isOperator };
}

const showChanged = ({ username, isOperator }: OperatorRow): string =>
  `${username} is ${isOperator ? 'an operator' : 'no operator'} of the gateway.`;

const showOperators = (operators: readonly OperatorRow[]): string =>
  table(
    ['ID', 'USERNAME', 'ACCOUNT'],
    operators.map(({ id, username, accountId, accountName }) => [id, username, `${accountName} (${accountId})`]),
  );
