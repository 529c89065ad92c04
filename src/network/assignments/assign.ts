import { notifyRoutingChange } from '../connections/sql.ts';
import type { Pool } from 'pg';
import { GATEWAY, operatorName, operatorOf, recordAudit } from '../../identity/audit/record.ts';
import type { ConnectionKind } from '../connections/sql.ts';
import type { Db } from '../../platform/db/query.ts';
import { transaction } from '../../platform/db/transaction.ts';
import { AppError } from '../../platform/errors.ts';
import { moveTemplatesOwner } from '../templates/sql.ts';
import { bareAgentId } from '../../carriers/rcs/agent-id.ts';
import * as db from '../senders/sql.ts';

export const CHANNEL_OF: Readonly<Partial<Record<ConnectionKind, db.SenderChannel>>> = {
  whatsapp: 'WHATSAPP',
  rcs: 'RCS',
};

/**
 * Registers a phone number or an agent, or gives it to another account; running programs follow at once. The numbers of
 * one WhatsApp connection share its templates, so they are all one account's or all everybody's. Errors: 409 otherwise.
 */
export const assignSender = (pool: Pool, input: db.NewSender): Promise<{ id: number }> =>
  transaction(pool, (tx) => giveSender(tx, operatorName(), input));

/** `assignSender` in the caller's transaction, for somebody. */
export async function giveSender(tx: Db, by: string, input: db.NewSender): Promise<{ id: number }> {
  const sender = { ...input, identity: input.channel === 'RCS' ? bareAgentId(input.identity) : input.identity };
  await db.claimSenders(tx);
  const before = await ownersOf(tx, sender.connectionId);
  const row = await db.insertSender(tx, sender);
  if (sender.channel === 'WHATSAPP') await followOwner(tx, sender, before);
  await recordSender(tx, { by, ownerId: sender.ownerId, action: 'sender.assign' }, sender);
  await notifyRoutingChange(tx);
  return row;
}

const ownersOf = async (tx: Db, connectionId: number): Promise<(number | null)[]> =>
  (await db.listOwnersOfConnections(tx, { connectionIds: [connectionId] })).map(({ ownerId }) => ownerId);

async function followOwner(tx: Db, { connectionId, ownerId }: db.NewSender, before: (number | null)[]): Promise<void> {
  if ((await ownersOf(tx, connectionId)).length > 1)
    throw new AppError('conflict', {
      message:
        'The numbers of one WhatsApp connection share its templates: give them all to one account, or all to everybody; ' +
        'for another account add another connection',
    });
  const [from = null] = before;
  if (before.length > 0 && from !== ownerId) await moveTemplatesOwner(tx, { connectionId, from, to: ownerId });
}

/**
 * Gives an agent that an account has asked for its id. Call it in a transaction. Errors: 404 when none of this number
 * waits for one, 409 when a sender has the id.
 */
export async function registerAgent(
  tx: Db,
  by: string,
  input: { id: number; identity: string; connectionId: number },
): Promise<void> {
  const agent = { ...input, identity: bareAgentId(input.identity) };
  const registered = await db.moveSenderRegistered(tx, agent).catch(explainTaken(agent.identity));
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
    throw new AppError('conflict', { message: `There is a sender ${identity} already`, cause });
  };

/** Takes a sender away: nothing can be sent as it any more. Call it in a transaction. Errors: 404. */
export async function removeSender(
  tx: Db,
  by: string,
  { channel, identity }: { channel: db.SenderChannel; identity: string },
): Promise<void> {
  await db.claimSenders(tx);
  const gone = await db.deleteSender(tx, { channel, identity });
  if (!gone) throw new AppError('not_found', { message: `There is no sender ${identity} on ${channel}` });
  await recordSender(tx, { by, ownerId: gone.ownerId, action: 'sender.remove' }, { channel, identity });
  await notifyRoutingChange(tx);
}

/** In the log of the account that has it; what is everybody's is in that of the gateway. */
async function recordSender(
  tx: Db,
  { by, ownerId, action }: { by: string; ownerId: number | null; action: string },
  { channel, identity }: { channel: db.SenderChannel; identity: string },
): Promise<void> {
  const event = { action, subject: `sender:${identity}`, detail: { channel } };
  await recordAudit(tx, operatorOf(ownerId ?? GATEWAY, by), event);
}
