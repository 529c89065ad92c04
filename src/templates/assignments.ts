import type { Pool } from 'pg';
import { GATEWAY_ACCOUNT_ID, operatorAuthor, operatorName, recordAudit } from '../accounts/audit.ts';
import { bareAgentId } from '../channels/rcs/settings.ts';
import { isRoutedBySender, type SenderChannel } from '../core/channels.ts';
import type { Db } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { AppError } from '../core/errors.ts';
import { notifyRoutingChange } from '../routing/connection-store.ts';
import { type ConnectionKind, kindOf } from '../routing/kinds.ts';
import * as db from '../routing/senders.ts';
import { updateTemplatesOwner } from './store.ts';

/** Returns the channel on which a connection has senders; undefined where its messages come over routes. */
export function senderChannelOf(connection: { readonly kind: ConnectionKind }): SenderChannel | undefined {
  const { channel } = kindOf(connection);
  return isRoutedBySender(channel) ? channel : undefined;
}

/**
 * Assigns a phone number or an agent to an account, or to all accounts; running processes follow immediately. The
 * numbers of one WhatsApp connection share its templates, so they must all belong to one account, or all be shared.
 * Errors: 409 otherwise.
 */
export const assignSender = (pool: Pool, input: db.NewSender): Promise<{ id: number }> =>
  transaction(pool, (tx) => assignSenderIn(tx, operatorName(), input));

/** `assignSender` in the caller's transaction, by the operator `by`. */
export async function assignSenderIn(tx: Db, by: string, input: db.NewSender): Promise<{ id: number }> {
  const sender = { ...input, identity: input.channel === 'RCS' ? bareAgentId(input.identity) : input.identity };
  await db.claimSenders(tx);
  const before = await ownersOf(tx, sender.connectionId);
  const row = await db.insertSender(tx, sender);
  if (sender.channel === 'WHATSAPP') await updateTemplateOwners(tx, sender, before);
  await recordSender(tx, { by, ownerId: sender.ownerId, action: 'sender.assign' }, sender);
  await notifyRoutingChange(tx);
  return row;
}

const ownersOf = async (tx: Db, connectionId: number): Promise<(number | null)[]> =>
  (await db.listOwnersOfConnections(tx, { connectionIds: [connectionId] })).map(({ ownerId }) => ownerId);

async function updateTemplateOwners(
  tx: Db,
  { connectionId, ownerId }: db.NewSender,
  before: (number | null)[],
): Promise<void> {
  if ((await ownersOf(tx, connectionId)).length > 1)
    throw new AppError('conflict', {
      message:
        'The numbers of one WhatsApp connection share its templates: assign them all to one account, or share them all; ' +
        'for another account add another connection',
    });
  const [from = null] = before;
  if (before.length > 0 && from !== ownerId) await updateTemplatesOwner(tx, { connectionId, from, to: ownerId });
}

/**
 * Gives a requested agent the id under which the network knows it. Call it in a transaction. Errors: 404 when no agent
 * with this number waits to be registered, 409 when another sender has the id.
 */
export async function registerAgent(
  tx: Db,
  by: string,
  input: { id: number; identity: string; connectionId: number },
): Promise<void> {
  const agent = { ...input, identity: bareAgentId(input.identity) };
  const registered = await db.moveSenderToRegistered(tx, agent).catch(explainTaken(agent.identity));
  if (!registered) throw new AppError('not_found', { message: `No agent ${input.id} waits to be registered` });
  const { ownerId } = registered;
  await recordSender(tx, { by, ownerId, action: 'sender.register' }, { ...agent, channel: 'RCS' });
  await notifyRoutingChange(tx);
}

const explainTaken =
  (identity: string) =>
  (cause: unknown): never => {
    const isTaken = cause instanceof Error && 'code' in cause && cause.code === '23505';
    if (!isTaken) throw cause;
    throw new AppError('conflict', { message: `A sender ${identity} already exists`, cause });
  };

/** Removes a sender, so that nothing can be sent as it. Call it in a transaction. Errors: 404. */
export async function removeSender(
  tx: Db,
  by: string,
  { channel, identity }: { channel: SenderChannel; identity: string },
): Promise<void> {
  await db.claimSenders(tx);
  const gone = await db.deleteSender(tx, { channel, identity });
  if (!gone) throw new AppError('not_found', { message: `There is no sender ${identity} on ${channel}` });
  await recordSender(tx, { by, ownerId: gone.ownerId, action: 'sender.remove' }, { channel, identity });
  await notifyRoutingChange(tx);
}

/** Records the change in the audit log of the sender's account, or of the gateway for a shared sender. */
async function recordSender(
  tx: Db,
  { by, ownerId, action }: { by: string; ownerId: number | null; action: string },
  { channel, identity }: { channel: SenderChannel; identity: string },
): Promise<void> {
  const event = { action, subject: `sender:${identity}`, detail: { channel } };
  await recordAudit(tx, operatorAuthor(ownerId ?? GATEWAY_ACCOUNT_ID, by), event);
}
