import type { Command } from 'commander';
import { findAccount } from '../../identity/accounts/find.ts';
import { operatorName } from '../../identity/audit/record.ts';
import { type CommandContext, table } from '../../platform/cli.ts';
import { transaction } from '../../platform/db/transaction.ts';
import { invalidFields } from '../../platform/errors.ts';
import { assignNumber, removeNumber } from './assign.ts';
import { NO_ACCOUNT_ID } from './receive.ts';
import * as db from './sql.ts';

type NumberFlags = { readonly number: string; readonly connection: string };
type ListFlags = { readonly account?: string; readonly limit: number };

/**
 * Registers `number assign`, `list` and `remove`, and `inbound list`. A running program follows with the next message.
 */
export function registerInboundCommands(program: Command, context: CommandContext): void {
  const number = program.command('number').description('the accounts to which inbound messages go, by number');
  addAssign(number, context);
  addRemove(number, context);
  addNumberList(number, context);
  program
    .command('inbound')
    .description('inbound messages')
    .command('list')
    .description('list the newest inbound messages of an account, or those to unassigned numbers')
    .option('--account <account>', 'name or id')
    .option('--limit <n>', 'maximum number of messages', Number, 50)
    .action(async (flags: ListFlags) => context.report(await listInbound(context, flags), showInbound));
}

function addNumberList(number: Command, context: CommandContext): void {
  number
    .command('list')
    .description('list all numbers and their accounts')
    .action(async () =>
      context.report(await context.withDatabase(db.listNumbers), (rows) =>
        table(
          ['number', 'connection', 'account', 'name'],
          rows.map((n) => [n.number, n.connection, n.accountId, n.account]),
        ),
      ),
    );
}

function addAssign(number: Command, context: CommandContext): void {
  number
    .command('assign')
    .description('assign a number to an account; assigning it again moves it to another one')
    .requiredOption('--number <number>', 'as the carrier writes it, or * for every other number of the connection')
    .requiredOption('--connection <name>', 'name of the connection')
    .requiredOption('--account <account>', 'name or id')
    .action(async (flags: NumberFlags & { account: string }) => {
      const assigned = await context.withDatabase(async (pool) => {
        const { id: accountId } = await findAccount(pool, { reference: flags.account });
        const wanted = { ...flags, accountId, by: operatorName() };
        return {
          connection: flags.connection,
          accountId,
          ...(await transaction(pool, (tx) => assignNumber(tx, wanted))),
        };
      });
      context.report(assigned, (a) => `Messages to ${a.number} on ${a.connection} go to account ${a.accountId}.`);
    });
}

function addRemove(number: Command, context: CommandContext): void {
  number
    .command('remove')
    .description('unassign a number from its account; its messages are kept')
    .requiredOption('--number <number>', 'as shown by list')
    .requiredOption('--connection <name>', 'name of the connection')
    .action(async (flags: NumberFlags) => {
      await context.withDatabase((pool) =>
        transaction(pool, (tx) => removeNumber(tx, { ...flags, by: operatorName() })),
      );
      context.report(
        { number: flags.number, connection: flags.connection },
        (n) => `${n.number} is no longer assigned to an account.`,
      );
    });
}

function listInbound(context: CommandContext, { account, limit }: ListFlags): Promise<db.InboundMessage[]> {
  if (!Number.isInteger(limit) || limit < 1 || limit > 10_000)
    throw invalidFields([{ field: '--limit', message: 'must be a whole number from 1 to 10000' }]);
  return context.withDatabase(async (pool) => {
    const accountId = account === undefined ? NO_ACCOUNT_ID : (await findAccount(pool, { reference: account })).id;
    return db.listInboundMessages(pool, { accountId, limit });
  });
}

const showInbound = (rows: readonly db.InboundMessage[]): string =>
  table(
    ['received', 'channel', 'connection', 'from', 'to', 'parts', 'text'],
    rows.map((m) => [
      m.receivedAt.toISOString(),
      m.channel,
      m.connection,
      printable(m.source),
      printable(m.destination),
      m.parts === m.partsReceived ? m.parts : `${m.partsReceived} of ${m.parts}`,
      printable(m.body),
    ]),
  );

/**
 * These texts come from unknown senders: a control character could control the terminal, a direction mark could
 * disguise the line.
 */
const printable = (text: string): string => text.replace(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, '\ufffd');
