import { assignSenderIn, registerAgent, removeSender, senderChannelOf } from '../../../network/assignments/assign.ts';
import { connectionNamed } from '../../../network/connections/find.ts';
import type { SenderChannel } from '../../../network/connections/kinds/kind.ts';
import type { Db } from '../../../platform/db/query.ts';
import { AppError, invalidFields } from '../../../platform/errors.ts';
import { requireAccount } from '../accounts/find.ts';
import { findSender, type SenderRow } from './sql.ts';

/** Finds a sender. Errors: 404. */
async function requireSender(db: Db, { id }: { readonly id: number }): Promise<SenderRow> {
  const sender = await findSender(db, { id });
  if (!sender) throw new AppError('not_found', { message: `There is no sender ${id}` });
  return sender;
}

type Assignment = {
  readonly identity: string;
  /** The name of the connection. */
  readonly connection: string;
  /** Null: all accounts. */
  readonly accountId: number | null;
  readonly name: string;
};

/**
 * Assigns a phone number or an agent to an account, or to all accounts. Call it in a transaction. Errors: 400, 404, 409 as
 * `assignSender`.
 */
export async function assignSenderTo(
  tx: Db,
  by: string,
  { accountId, connection, ...sender }: Assignment,
): Promise<SenderRow> {
  const link = await findLink(tx, connection);
  if (accountId !== null) await requireAccount(tx, { id: accountId });
  return requireSender(tx, await assignSenderIn(tx, by, { ...sender, ...link, ownerId: accountId }));
}

/**
 * Gives a requested agent the id under which the network knows it. Call it in a transaction. Errors: 400, 404, 409 as
 * `registerAgent`.
 */
export async function registerRequestedAgent(
  tx: Db,
  by: string,
  { id, identity, connection }: { readonly id: number; readonly identity: string; readonly connection: string },
): Promise<SenderRow> {
  const { connectionId, channel } = await findLink(tx, connection);
  if (channel !== 'RCS') throw invalidFields([{ field: 'connection', message: 'must be a connection to RCS' }]);
  await registerAgent(tx, by, { id, identity, connectionId });
  return requireSender(tx, { id });
}

/**
 * Removes a sender, so that nothing can be sent as it. Call it in a transaction. Errors: 404; 409 for an agent that is not
 * registered yet.
 */
export async function removeSenderById(tx: Db, by: string, { id }: { readonly id: number }): Promise<void> {
  const { channel, identity } = await requireSender(tx, { id });
  if (identity === null) throw new AppError('conflict', { message: 'The agent is not registered yet' });
  await removeSender(tx, by, { channel, identity });
}

async function findLink(tx: Db, name: string): Promise<{ connectionId: number; channel: SenderChannel }> {
  const connection = await connectionNamed(tx, name);
  const channel = senderChannelOf(connection);
  if (!channel) throw invalidFields([{ field: 'connection', message: 'must be a connection to WhatsApp or RCS' }]);
  return { connectionId: connection.id, channel };
}
