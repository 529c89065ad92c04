import { type Command, Option } from 'commander';
import { findAccount } from '../../identity/accounts/find.ts';
import { operatorAuthor, recordAudit } from '../../identity/audit/record.ts';
import { type CommandContext, table } from '../../platform/cli.ts';
import { transaction } from '../../platform/db/transaction.ts';
import { invalidFields } from '../../platform/errors.ts';
import { type Channel, CHANNELS } from '../../platform/lib/channel.ts';
import { toE164 } from '../../platform/lib/phone/phone.ts';
import { isUserId } from '../../platform/lib/phone/user-id.ts';
import { optIn, optOut } from './record.ts';
import { listOptOuts, type OptOutRow } from './sql.ts';

const SHOWN = 10_000;

/** `consent list`, `consent out` and `consent in`. */
export function registerConsentCommands(program: Command, context: CommandContext): void {
  const consent = program.command('consent').description('opt-outs: numbers that do not want messages from an account');

  consent
    .command('list')
    .argument('<account>', 'name or id')
    .description(`list the first ${SHOWN} opt-outs of an account, by number`)
    .action(async (reference: string) => {
      const rows = await context.withDatabase(async (pool) => {
        const { id: accountId } = await findAccount(pool, { reference });
        return listOptOuts(pool, { accountId, limit: SHOWN });
      });
      context.report(rows, showOptOuts);
    });

  addCommand(consent, context, 'out', 'reject sends of an account to a number');
  addCommand(consent, context, 'in', 'allow an account to send to a number again');
}

function addCommand(consent: Command, context: CommandContext, way: 'in' | 'out', description: string): void {
  consent
    .command(way)
    .argument('<account>', 'name or id')
    .argument('<number>', 'with its country code; on WhatsApp also a user id')
    .addOption(new Option('--channel <channel>', 'a single channel; default: all').choices(CHANNELS))
    .description(description)
    .action(async (account: string, number: string, { channel }: { channel?: Channel }) =>
      context.report(
        await change(context, way, { account, number, channels: channel ? [channel] : CHANNELS }),
        ({ phoneNumber, changed }) =>
          changed.length === 0
            ? `${phoneNumber}: nothing to change.`
            : `${phoneNumber}: opted ${way} of ${changed.join(', ')}.`,
      ),
    );
}

type Input = { readonly account: string; readonly number: string; readonly channels: readonly Channel[] };

function change(context: CommandContext, way: 'in' | 'out', { account, number, channels }: Input) {
  const phoneNumber = isUserId(number) ? number : toE164(number);
  if (phoneNumber === null)
    throw invalidFields([{ field: 'number', message: 'must be a number with its country code' }]);
  return context.withDatabase((pool) =>
    transaction(pool, async (tx) => {
      const { id: accountId } = await findAccount(tx, { reference: account });
      const rows = channels.map((channel) => ({ accountId, phoneNumber, channel, source: 'OPERATOR' as const }));
      const changed = (await (way === 'out' ? optOut(tx, rows) : optIn(tx, rows))).map((row) => row.channel).sort();
      const event = { action: `consent.${way}`, subject: `number:${phoneNumber}`, detail: { channels: changed } };
      await recordAudit(tx, operatorAuthor(accountId), event);
      return { accountId, phoneNumber, changed };
    }),
  );
}

const showOptOuts = (rows: readonly OptOutRow[]): string =>
  table(
    ['NUMBER', 'CHANNEL', 'SOURCE', 'SINCE'],
    rows.map(({ phoneNumber, channel, source, createdAt }) => [phoneNumber, channel, source, createdAt.toISOString()]),
  );
