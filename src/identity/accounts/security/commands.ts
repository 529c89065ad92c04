import { type Command, InvalidArgumentError } from 'commander';
import type { Pool } from 'pg';
import { operatorAuthor } from '../../audit/record.ts';
import type { CommandContext } from '../../../platform/cli.ts';
import { transaction } from '../../../platform/db/transaction.ts';
import { invalidFields } from '../../../platform/errors.ts';
import { findAccount } from '../find.ts';
import { clearAllowList, setRate } from './change.ts';
import { type AllowList, findAllowList } from './sql.ts';

type LimitOptions = { perMinute?: number; perSecond?: number; plan?: true };

/** Registers `account limit` and `account allow-list`. */
export function registerSecurityCommands(account: Command, context: CommandContext): void {
  account
    .command('limit')
    .argument('<account>', 'name or id')
    .option('--per-minute <n>', 'requests per minute for each key; 0 means no limit', parseCount)
    .option('--per-second <n>', 'maximum in one second; by default a twentieth of the limit per minute', parseCount)
    .option('--plan', 'use the limit of the plan')
    .description('set the request limit of each key of an account; applies from the next request')
    .action(async (reference: string, options: LimitOptions) =>
      context.report(await context.withDatabase((pool) => limit(pool, reference, options)), showLimit),
    );

  account
    .command('allow-list')
    .argument('<account>', 'name or id')
    .option('--clear', 'allow every address again, for an admin who is locked out')
    .description('show the addresses from which an account may be used')
    .action(async (reference: string, { clear = false }: { clear?: boolean }) =>
      context.report(await context.withDatabase((pool) => allowList(pool, reference, clear)), showAllowList),
    );
}

async function limit(pool: Pool, reference: string, options: LimitOptions) {
  const { perMinute = null, perSecond = null, plan = false } = options;
  if (plan === (perMinute !== null) || (plan && perSecond !== null) || perSecond === 0)
    throw invalidFields([
      {
        field: '--per-minute',
        message: 'is required (with --per-second of at least 1, if given), unless --plan is given alone',
      },
    ]);
  const { id: accountId, name } = await findAccount(pool, { reference });
  await transaction(pool, (tx) => setRate(tx, operatorAuthor(accountId), { perMinute, perSecond }));
  return { accountId, name, perMinute, perSecond };
}

const showLimit = ({ name, perMinute }: { name: string; perMinute: number | null }): string =>
  perMinute === null
    ? `Keys of ${name} have the limit of its plan.`
    : `Keys of ${name} have ${perMinute === 0 ? 'no limit' : `${perMinute} requests per minute`}.`;

async function allowList(pool: Pool, reference: string, clear: boolean) {
  const { id: accountId, name } = await findAccount(pool, { reference });
  if (clear) await transaction(pool, (tx) => clearAllowList(tx, operatorAuthor(accountId)));
  const list = await findAllowList(pool, { accountId });
  return { accountId, name, enforced: list?.enforced === true, ipAllowList: list?.ipAllowList ?? [] };
}

const showAllowList = ({ name, enforced, ipAllowList }: { name: string } & AllowList): string =>
  [enforced ? `${name} may be used from:` : `${name} may be used from every address.`, ...ipAllowList].join('\n  ');

function parseCount(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It must be a whole number of at least 0.');
  return Number(text);
}
