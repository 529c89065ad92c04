import { type Command, Option } from 'commander';
import { findAccount } from '../../identity/accounts/find.ts';
import { operatorName } from '../../identity/audit/record.ts';
import { type CommandContext, table } from '../../platform/cli.ts';
import { findConnection } from '../connections/sql.ts';
import type { Db } from '../../platform/db/query.ts';
import { transaction } from '../../platform/db/transaction.ts';
import { AppError, invalidFields } from '../../platform/errors.ts';
import type { SenderChannel } from '../connections/kinds/kind.ts';
import { listSenders } from '../senders/sql.ts';
import { assignSender, registerAgent, removeSender, senderChannelOf } from './assign.ts';

type AssignFlags = { id: string; connection: string; account?: string; common?: true; name: string };

/** Registers `sender assign`, `register`, `list` and `remove`. A running program follows immediately. */
export function registerSenderCommands(program: Command, context: CommandContext): void {
  const sender = program
    .command('sender')
    .description('WhatsApp phone numbers and RCS agents, and the accounts that may send as them');
  addAssign(sender, context);
  addRegister(sender, context);

  sender
    .command('list')
    .description('list all phone numbers and agents')
    .action(async () =>
      context.report(await context.withDatabase(listSenders), (rows) =>
        table(
          ['no', 'channel', 'id', 'connection', 'account', 'name'],
          rows.map((s) => [
            s.id,
            s.channel,
            s.identity ?? '(requested)',
            s.connection ?? '',
            s.account ?? '(all accounts)',
            s.name,
          ]),
        ),
      ),
    );

  sender
    .command('remove')
    .description('remove a phone number or an agent')
    .addOption(new Option('--channel <channel>', 'channel').choices(['RCS', 'WHATSAPP']).makeOptionMandatory())
    .requiredOption('--id <id>', 'phone number id or agent id')
    .action(async ({ channel, id: identity }: { channel: SenderChannel; id: string }) => {
      await context.withDatabase((pool) =>
        transaction(pool, (tx) => removeSender(tx, operatorName(), { channel, identity })),
      );
      context.report({ channel, identity }, () => `${identity} was removed.`);
    });
}

function addAssign(sender: Command, context: CommandContext): void {
  sender
    .command('assign')
    .description('assign a phone number or an agent of a connection to an account, or to all accounts')
    .requiredOption('--id <id>', 'phone number id or agent id at the network')
    .requiredOption('--connection <name>', 'name of the connection')
    .option('--account <account>', 'name or id of the account')
    .option('--common', 'all accounts may send as it')
    .option('--name <name>', 'the name that recipients see', '')
    .action(async (flags: AssignFlags) => {
      const { id: identity, name } = flags;
      const assigned = await context.withDatabase(async (pool) => {
        const { connectionId, channel } = await findLink(pool, flags.connection);
        const ownerId = await readOwner(pool, flags);
        return { ...(await assignSender(pool, { channel, identity, connectionId, ownerId, name })), channel, ownerId };
      });
      const to = assigned.ownerId === null ? 'All accounts' : `Account ${assigned.ownerId}`;
      context.report({ ...assigned, identity }, () => `${to} may send as ${identity}.`);
    });
}

function addRegister(sender: Command, context: CommandContext): void {
  sender
    .command('register')
    .description('set the network id of an agent that an account has requested')
    .argument('<no>', 'number of the agent in "sender list"')
    .requiredOption('--id <id>', 'agent id')
    .requiredOption('--connection <name>', 'name of the connection')
    .action(async (no: string, flags: { id: string; connection: string }) => {
      const id = Number(no);
      if (!Number.isSafeInteger(id)) throw new AppError('not_found', { message: `There is no agent ${no}` });
      await context.withDatabase(async (pool) => {
        const { connectionId, channel } = await findLink(pool, flags.connection);
        if (channel !== 'RCS') throw invalidFields([{ field: '--connection', message: 'must be a connection to RCS' }]);
        await transaction(pool, (tx) => registerAgent(tx, operatorName(), { id, identity: flags.id, connectionId }));
      });
      context.report({ id, identity: flags.id }, () => `Agent ${no} sends as ${flags.id}.`);
    });
}

async function findLink(db: Db, name: string): Promise<{ connectionId: number; channel: SenderChannel }> {
  const connection = await findConnection(db, { name });
  if (!connection) throw new AppError('not_found', { message: `There is no connection ${name}` });
  const channel = senderChannelOf(connection);
  if (!channel) throw invalidFields([{ field: '--connection', message: 'must be a connection to WhatsApp or RCS' }]);
  return { connectionId: connection.id, channel };
}

async function readOwner(db: Db, { account, common }: AssignFlags): Promise<number | null> {
  if ((account === undefined) === (common === undefined))
    throw invalidFields([{ field: '--account', message: 'exactly one of --account and --common is required' }]);
  return account === undefined ? null : (await findAccount(db, { reference: account })).id;
}
