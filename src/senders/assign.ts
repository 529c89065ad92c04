import type { Pool } from 'pg';
import { operatorOf, recordAudit } from '../audit/record.ts';
import type { ConnectionKind } from '../connections/sql.ts';
import type { Db } from '../db/query.ts';
import { transaction } from '../db/transaction.ts';
import { AppError } from '../errors.ts';
import { notifyRoutes } from '../routing/sql.ts';
import { moveTemplatesOwner } from '../templates/sql.ts';
import { bareAgentId } from './agent-id.ts';
import * as db from './sql.ts';

export const CHANNEL_OF: Readonly<Partial<Record<ConnectionKind, db.SenderChannel>>> = {
  whatsapp: 'WHATSAPP',
  rcs: 'RCS',
};

/**
 * Registers a phone number or an agent, or gives it to another account; running programs follow at once. The numbers of
 * one WhatsApp connection share its templates, so they are all one account's or all everybody's. Errors: 409 otherwise.
 */
export async function assignSender(pool: Pool, input: db.NewSender): Promise<{ id: number }> {
  const sender = { ...input, identity: input.channel === 'RCS' ? bareAgentId(input.identity) : input.identity };
  return transaction(pool, async (tx) => {
    await db.claimSenders(tx);
    const before = await ownersOf(tx, sender.connectionId);
    const row = await db.insertSender(tx, sender);
    if (sender.channel === 'WHATSAPP') await followOwner(tx, sender, before);
    await recordSender(tx, sender.ownerId, 'sender.assign', sender);
    await notifyRoutes(tx);
    return row;
  });
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

/** Gives an agent that an account has asked for its id. Errors: 404 when none of this number waits for one. */
export async function registerAgent(
  pool: Pool,
  input: { id: number; identity: string; connectionId: number },
): Promise<void> {
  const agent = { ...input, identity: bareAgentId(input.identity) };
  await transaction(pool, async (tx) => {
    const registered = await db.moveSenderRegistered(tx, agent);
    if (!registered) throw new AppError('not_found', { message: `No agent ${input.id} waits to be registered` });
    await recordSender(tx, registered.ownerId, 'sender.register', { ...agent, channel: 'RCS' });
    await notifyRoutes(tx);
  });
}

/** Takes a sender away: nothing can be sent as it any more. Errors: 404. */
export async function removeSender(
  pool: Pool,
  { channel, identity }: { channel: db.SenderChannel; identity: string },
): Promise<void> {
  await transaction(pool, async (tx) => {
    await db.claimSenders(tx);
    const gone = await db.deleteSender(tx, { channel, identity });
    if (!gone) throw new AppError('not_found', { message: `There is no sender ${identity} on ${channel}` });
    await recordSender(tx, gone.ownerId, 'sender.remove', { channel, identity });
    await notifyRoutes(tx);
  });
}

/** In the log of the account that has it; what is everybody's is in nobody's log. */
async function recordSender(
  tx: Db,
  ownerId: number | null,
  action: string,
  { channel, identity }: { channel: db.SenderChannel; identity: string },
): Promise<void> {
  if (ownerId === null) return;
  await recordAudit(tx, operatorOf(ownerId), { action, subject: `sender:${identity}`, detail: { channel } });
}
