import { connectionNamed } from '../../../network/connections/find.ts';
import type { Db } from '../../../platform/db/query.ts';
import { AppError, invalidFields } from '../../../platform/errors.ts';
import { assignSenderIn, registerAgent, removeSender, senderChannelOf } from '../../../network/assignments/assign.ts';
import type { SenderChannel } from '../../../network/connections/kinds/kind.ts';
import { requireAccount } from '../accounts/find.ts';
import { findSender, type SenderRow } from './sql.ts';

/** Errors: 404. */
async function senderOf(db: Db, { id }: { readonly id: number }): Promise<SenderRow> {
  const sender = await findSender(db, { id });
  if (!sender) throw new AppError('not_found', { message: `There is no sender ${id}` });
  return sender;
}

type Gift = {
  readonly identity: string;
  /** Name of the connection. */
  readonly connection: string;
  /** Null: every account's. */
  readonly accountId: number | null;
  readonly name: string;
};

/** Gives a phone number or an agent to an account. Call it in a transaction. Errors: 400, 404, 409 as `assignSender`. */
export async function assignSenderTo(
  tx: Db,
  by: string,
  { accountId, connection, ...sender }: Gift,
): Promise<SenderRow> {
  const link = await findLink(tx, connection);
  if (accountId !== null) await requireAccount(tx, { id: accountId });
  return senderOf(tx, await assignSenderIn(tx, by, { ...sender, ...link, ownerId: accountId }));
}

/** Gives an agent that an account has asked for its id. Call it in a transaction. Errors: 400, 404. */
export async function register(
  tx: Db,
  by: string,
  { id, identity, connection }: { readonly id: number; readonly identity: string; readonly connection: string },
): Promise<SenderRow> {
  const { connectionId, channel } = await findLink(tx, connection);
  if (channel !== 'RCS') throw invalidFields([{ field: 'connection', message: 'must be a connection to RCS' }]);
  await registerAgent(tx, by, { id, identity, connectionId });
  return senderOf(tx, { id });
}

/** Takes a sender away. Call it in a transaction. Errors: 404; 409 for an agent that is only asked for. */
export async function unassignSender(tx: Db, by: string, { id }: { readonly id: number }): Promise<void> {
  const { channel, identity } = await senderOf(tx, { id });
  if (identity === null) throw new AppError('conflict', { message: 'It is not registered yet' });
  await removeSender(tx, by, { channel, identity });
}

async function findLink(tx: Db, name: string): Promise<{ connectionId: number; channel: SenderChannel }> {
  const connection = await connectionNamed(tx, name);
  const channel = senderChannelOf(connection);
  if (!channel) throw invalidFields([{ field: 'connection', message: 'must be a connection to WhatsApp or RCS' }]);
  return { connectionId: connection.id, channel };
}
