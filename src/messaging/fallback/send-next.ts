import type { Pool } from 'pg';
import type { Db } from '../../platform/db/query.ts';
import { transaction } from '../../platform/db/transaction.ts';
import { newId } from '../../platform/lib/ids.ts';
import type { Accept } from '../sending/accept.ts';
import { type Draft, REFUSALS } from '../sending/draft.ts';
import { endMessages } from '../messages/end.ts';
import { insertEvents } from '../messages/events/sql.ts';
import { insertOpenStates } from '../expiry/sql.ts';
import { insertMessages, type NewMessage } from '../messages/sql.ts';
import { STATUS } from '../states.ts';
import type { DueMessage } from './decide.ts';
import * as db from '../messages/fallback/sql.ts';

type Deps = { readonly pool: Pool; readonly accept: Pick<Accept, 'once'>; readonly now: () => Date };

/** Undoes a transaction in which the next message was refused. */
const UNDO = new Error('the next message was refused');

/**
 * Makes the message that follows, through all the steps of a send, in the transaction that forgets that it was to be
 * made: it is made once, whatever breaks and whoever else looks. A refusal ends the chain.
 *
 * @param reason the end of the message before it, or TIME
 */
export async function sendNext(deps: Deps, looked: DueMessage, reason: string): Promise<void> {
  const { fact } = looked;
  let refusal: string | null = null;
  const stored = deps.accept.once(fact, [toDraft(looked)], {
    take: async (tx) => (await db.deleteFallbacks(tx, [fact])) === 1,
    async keep(tx, [verdict]) {
      if (verdict?.kind === 'accepted') return noteHop(tx, looked, { id: verdict.messageId, text: reason });
      refusal = verdict?.kind === 'refused' ? REFUSALS[verdict.refusal] : 'it cannot be stored';
      throw UNDO;
    },
  });
  await stored.catch((error: unknown) => {
    if (error !== UNDO) throw error;
  });
  if (refusal !== null) await rejectNext(deps, looked, refusal);
}

/**
 * Ends a chain whose next message must not be sent: that is stored as REJECTED, at no price, so that webhooks, the record
 * and the client's id tell of it.
 */
export async function rejectNext({ pool, now }: Deps, looked: DueMessage, reason: string): Promise<void> {
  const { fact } = looked;
  await transaction(pool, async (tx) => {
    if ((await db.deleteFallbacks(tx, [fact])) === 0) return;
    const message = toRefused(looked);
    const { accountId, id } = message;
    await insertMessages(tx, [message]);
    await insertOpenStates(tx, [message]);
    await noteHop(tx, looked, { id, text: `refused: ${reason}` });
    const end = { accountId, id, status: STATUS.REJECTED, doneAt: now(), errorCode: 'REFUSED', errorText: reason };
    await endMessages(tx, [end], { counted: !fact.simulation });
  });
}

async function noteHop(tx: Db, { fact, hop }: DueMessage, { id, text }: { id: string; text: string }): Promise<void> {
  const { accountId, clientId, channel } = fact;
  const event = { accountId, connectionId: null, kind: 'fallback' } as const;
  await Promise.all([
    insertEvents(tx, [
      {
        ...event,
        messageId: fact.id,
        text: `goes on over ${hop.channel}: ${text}`,
        details: { channel: hop.channel, messageId: id },
      },
      {
        ...event,
        messageId: id,
        text: `follows a message over ${channel}: ${text}`,
        details: { channel, messageId: fact.id },
      },
    ]),
    ...(clientId === null ? [] : [db.updateNewestId(tx, { accountId, clientId, id: fact.id, newestId: id })]),
  ]);
}

const toDraft = ({ fact, hop, rest }: DueMessage): Draft => ({
  channel: hop.channel,
  sender: hop.sender,
  body: hop.body,
  content: hop.content,
  hops: rest,
  isHop: true,
  source: fact.source,
  clientId: fact.clientId,
  destination: fact.destination,
  simulation: fact.simulation,
  validUntil: fact.validUntil,
  wantReceipt: true,
  binary: null,
  scheduledAt: null,
  priority: 0,
});

const toRefused = ({ fact, hop }: DueMessage): NewMessage => ({
  accountId: fact.accountId,
  id: newId(),
  clientId: fact.clientId,
  channel: hop.channel,
  source: fact.source,
  simulation: fact.simulation,
  connectionId: null,
  sender: hop.sender,
  destination: fact.destination,
  body: hop.body,
  content: hop.content,
  udh: null,
  binaryBody: null,
  parts: 1,
  wantReceipt: true,
  validUntil: fact.validUntil,
  scheduledAt: null,
  priceMicros: 0,
  refundUndelivered: false,
  apiKeyId: fact.keyId,
  userId: fact.userId,
  campaignId: null,
  keepsReserve: false,
});
