import type { Command } from 'commander';
import { findAccount } from '../../identity/accounts/find.ts';
import { operatorAuthor } from '../../identity/audit/record.ts';
import type { CommandContext } from '../../platform/cli.ts';
import { transaction } from '../../platform/db/transaction.ts';
import { invalidFields } from '../../platform/errors.ts';
import type { Limits } from './limits.ts';
import { setLimits } from './set-limits.ts';

const NONE = 'none';

/** Registers the command `contact limit`. */
export function registerContactCommands(program: Command, context: CommandContext): void {
  const contact = program.command('contact').description('contact limits');

  contact
    .command('limit')
    .argument('<account>', 'name or id')
    .option('--plan <contacts>', `contacts included in the plan, or "${NONE}" for no limit`)
    .option('--extra <contacts>', 'contacts in addition to the plan')
    .description('set the contact limit of an account; without options, show it')
    .action(async (account: string, options: LimitOptions) =>
      context.report(await setOrShowLimits(context, account, options), describeLimits),
    );
}

type LimitOptions = { plan?: string; extra?: string };
type LimitsOfAccount = Limits & { readonly accountId: number };

function setOrShowLimits(
  context: CommandContext,
  reference: string,
  { plan, extra }: LimitOptions,
): Promise<LimitsOfAccount> {
  const planLimit = plan === undefined || plan === NONE ? null : readCount('--plan', plan);
  const extraLimit = extra === undefined ? undefined : readCount('--extra', extra);
  return context.withDatabase((pool) =>
    transaction(pool, async (tx) => {
      const { id: accountId } = await findAccount(tx, { reference });
      const wanted = { planLimit: plan === undefined ? undefined : planLimit, extraLimit };
      return { accountId, ...(await setLimits(tx, operatorAuthor(accountId), wanted)) };
    }),
  );
}

function readCount(field: string, text: string): number {
  if (!/^\d{1,12}$/.test(text)) throw invalidFields([{ field, message: 'must be a whole number from 0' }]);
  return Number(text);
}

const describeLimits = ({ used, totalLimit, planLimit, extraLimit }: LimitsOfAccount): string =>
  totalLimit === null
    ? `${used} contacts, no limit`
    : `${used} of ${totalLimit} contacts (plan ${planLimit}, extra ${extraLimit})`;
