import type { Command } from 'commander';
import { findAccount } from '../accounts/find.ts';
import { operatorOf, recordAudit } from '../audit/record.ts';
import type { CommandContext } from '../cli.ts';
import type { Db } from '../db/query.ts';
import { transaction } from '../db/transaction.ts';
import { AppError, invalidFields } from '../errors.ts';
import { isPhoneCountry } from '../lib/phone-details.ts';
import { findBook, moveDefaultCountry, moveLimits } from './book/sql.ts';
import { type Limits, limitsOf } from './limits.ts';

const NONE = 'none';

/** `contact limit` and `contact country`. */
export function registerContactCommands(program: Command, context: CommandContext): void {
  const contact = program
    .command('contact')
    .description('how many contacts accounts may have, and how they read numbers');

  contact
    .command('limit')
    .argument('<account>', 'name or id')
    .option('--plan <contacts>', `what the plan allows, or "${NONE}" for any number`)
    .option('--extra <contacts>', 'what the account has beyond its plan')
    .description('set how many contacts an account may have; without options, show it')
    .action(async (account: string, options: LimitOptions) =>
      context.report(await setLimits(context, account, options), showLimits),
    );

  contact
    .command('country')
    .argument('<account>', 'name or id')
    .argument('<country>', `two letters (ISO 3166-1), or "${NONE}": then numbers need their country code`)
    .description('set whose national numbers an account may write')
    .action(async (account: string, country: string) =>
      context.report(await setCountry(context, account, country), ({ defaultCountry }) =>
        defaultCountry === null
          ? 'Numbers need their country code.'
          : `National numbers are read as of ${defaultCountry}.`,
      ),
    );
}

type LimitOptions = { plan?: string; extra?: string };
type Shown = Limits & { readonly accountId: number };

function setLimits(context: CommandContext, reference: string, { plan, extra }: LimitOptions): Promise<Shown> {
  const planLimit = plan === undefined || plan === NONE ? null : readCount('--plan', plan);
  const extraLimit = extra === undefined ? undefined : readCount('--extra', extra);
  return context.withDatabase((pool) =>
    transaction(pool, async (tx) => {
      const { id: accountId } = await findAccount(tx, { reference });
      const before = await bookOf(tx, accountId);
      const limits = {
        planLimit: plan === undefined ? before.planLimit : planLimit,
        extraLimit: extraLimit ?? before.extraLimit,
      };
      if (plan !== undefined || extra !== undefined) await saveLimits(tx, accountId, limits);
      return { accountId, ...limitsOf({ ...before, ...limits }) };
    }),
  );
}

async function saveLimits(tx: Db, accountId: number, limits: { planLimit: number | null; extraLimit: number }) {
  await moveLimits(tx, { accountId, ...limits });
  await recordAudit(tx, operatorOf(accountId), { action: 'contact.limit', subject: 'contacts', detail: limits });
}

function setCountry(context: CommandContext, reference: string, country: string) {
  const defaultCountry = country.toLowerCase() === NONE ? null : country.toUpperCase();
  if (defaultCountry !== null && !isPhoneCountry(defaultCountry))
    throw invalidFields([{ field: 'country', message: 'must be two letters of ISO 3166-1, for example IT' }]);
  return context.withDatabase((pool) =>
    transaction(pool, async (tx) => {
      const { id: accountId } = await findAccount(tx, { reference });
      await moveDefaultCountry(tx, { accountId, country: defaultCountry });
      const detail = { defaultCountry };
      await recordAudit(tx, operatorOf(accountId), { action: 'contact.country', subject: 'contacts', detail });
      return { accountId, defaultCountry };
    }),
  );
}

async function bookOf(db: Db, accountId: number) {
  const book = await findBook(db, { accountId });
  if (!book) throw new AppError('not_found', { message: 'The account has no contacts and no limits' });
  return book;
}

function readCount(field: string, text: string): number {
  if (!/^\d{1,12}$/.test(text)) throw invalidFields([{ field, message: 'must be a whole number from 0' }]);
  return Number(text);
}

const showLimits = ({ used, totalLimit, planLimit, extraLimit }: Shown): string =>
  totalLimit === null
    ? `${used} contacts, no limit`
    : `${used} of ${totalLimit} contacts (plan ${planLimit}, extra ${extraLimit})`;
