import { type Command, InvalidArgumentError } from 'commander';
import { findAccount } from '../accounts/find.ts';
import { operatorAuthor } from '../audit/record.ts';
import type { CommandContext } from '../../platform/cli.ts';
import type { Db } from '../../platform/db/query.ts';
import { transaction } from '../../platform/db/transaction.ts';
import { AppError } from '../../platform/errors.ts';
import { type Scope, SCOPES } from '../../platform/lib/scope.ts';
import { createKey, type IssuedKey } from './create.ts';
import { revokeKey } from './revoke.ts';
import { findAccountOfKey } from './sql.ts';

type CreateOptions = { account: string; name: string; operations: readonly Scope[] };

/** Registers `key create` and `key revoke`. */
export function registerKeyCommands(program: Command, context: CommandContext): void {
  const key = program.command('key').description('API keys of the accounts');

  key
    .command('create')
    .description('create an API key; shows it once')
    .requiredOption('--account <account>', 'name or id of the account')
    .option('--name <name>', 'a name that distinguishes the key from others', '')
    .option('--operations <list>', `comma-separated scopes: ${SCOPES.join(', ')}`, parseScopes, [...SCOPES])
    .action(async (options: CreateOptions) => {
      const made = await context.withDatabase((pool) => transaction(pool, (tx) => createFor(tx, options)));
      context.report(made, ({ id, apiKey }) => `Key ${id}. Save it now, it is not shown again:\n  ${apiKey}`);
    });

  key
    .command('revoke')
    .argument('<id>', 'id of the key', parseId)
    .description('revoke an API key; the next request with it gets 401')
    .action(async (id: number) => {
      await context.withDatabase((pool) => transaction(pool, (tx) => revoke(tx, id)));
      context.report({ id, revoked: true }, () => `Key ${id} is revoked.`);
    });
}

async function createFor(tx: Db, options: CreateOptions): Promise<IssuedKey> {
  const { id } = await findAccount(tx, { reference: options.account });
  const operator = { ...operatorAuthor(id), operations: new Set(SCOPES) };
  return createKey(tx, operator, { name: options.name, operations: options.operations });
}

async function revoke(tx: Db, id: number): Promise<void> {
  const owner = await findAccountOfKey(tx, { id });
  if (!owner) throw new AppError('not_found', { message: `There is no key ${id}` });
  await revokeKey(tx, operatorAuthor(owner.accountId), { id });
}

function parseScopes(list: string): Scope[] {
  const words = list.split(',').map((word) => word.trim());
  const wrong = words.find((word) => !SCOPES.some((scope) => scope === word));
  if (wrong !== undefined) throw new InvalidArgumentError(`"${wrong}" is not a scope.`);
  return SCOPES.filter((scope) => words.includes(scope));
}

function parseId(text: string): number {
  if (!/^[1-9]\d{0,14}$/.test(text)) throw new InvalidArgumentError('The id must be a whole number.');
  return Number(text);
}
