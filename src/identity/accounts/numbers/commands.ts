import { type Command, Option } from 'commander';
import { operatorAuthor } from '../../audit/record.ts';
import type { CommandContext } from '../../../platform/cli.ts';
import { transaction } from '../../../platform/db/transaction.ts';
import { NUMBER_CHECKS, type NumberChecks, type NumberRules } from '../../../platform/lib/phone/number-rules.ts';
import { findAccount } from '../find.ts';
import { changeNumberRules } from './change.ts';

const NONE = 'none';

/** Registers `account numbers`. */
export function registerNumbersCommand(account: Command, context: CommandContext): void {
  account
    .command('numbers')
    .argument('<account>', 'name or id')
    .option('--country <country>', `two letters (ISO 3166-1), or "${NONE}" to require a country code`)
    .addOption(
      new Option('--checks <checks>', 'strict rejects lengths that a country does not have').choices(NUMBER_CHECKS),
    )
    .description('set the phone-number rules of an account; without options, show them')
    .action(async (reference: string, { country, checks }: { country?: string; checks?: NumberChecks }) => {
      const defaultCountry = country?.toLowerCase() === NONE ? null : country;
      const rules = context.withDatabase((pool) =>
        transaction(pool, async (tx) => {
          const { id: accountId } = await findAccount(tx, { reference });
          const patch = { defaultCountry, numberChecks: checks };
          return { accountId, ...(await changeNumberRules(tx, operatorAuthor(accountId), patch)) };
        }),
      );
      context.report(await rules, describeRules);
    });
}

const describeRules = ({ defaultCountry, numberChecks }: NumberRules): string =>
  [
    defaultCountry === null
      ? 'Numbers need their country code.'
      : `Numbers without a country code are numbers of ${defaultCountry}.`,
    numberChecks === 'strict'
      ? 'Lengths that a country does not have are rejected.'
      : 'Any length from 7 to 15 digits is accepted.',
  ].join('\n');
