import { inheritedOf, type NewMessage, insertMessages, newMessage } from '../messages/new/sql.ts';
import type { Pool } from 'pg';
import type { Db } from '../../platform/db/query.ts';
import { transaction } from '../../platform/db/transaction.ts';
import { newId } from '../../platform/lib/ids.ts';
import type { Accept } from '../sending/accept.ts';
import { type Draft, newDraft, REFUSALS } from '../sending/draft.ts';
import { endMessages } from '../messages/end.ts';
import { insertEvents } from '../messages/events/sql.ts';
import { insertOpenStates } from '../expiry/sql.ts';
import { STATUS } from '../states.ts';
import type { DueMessage } from './decide.ts';
import * as db from '../messages/fallback/sql.ts';

type Deps = { readonly pool: Pool; readonly accept: Pick<Accept, 'once'>; readonly now: () => Date };

/** Rolls back a transaction in which the next message was rejected. */
const ROLLBACK = new Error('the next message was refused');

/**
 * Makes the next message, through all the steps of a send, in the transaction that deletes the fallback of the message
 * before it. So it is made once, whatever fails and however many workers try. A rejection ends the chain.
 *
 * @param reason the final status of the message before it, or TIME
 */
export async function sendNext(deps: Deps, due: DueMessage, reason: string): Promise<void> {
  let refusal: string | null = null;
  const accepted = deps.accept.once(due.message, [toDraft(due)], {
    claim: async (tx) => (await db.deleteFallbacks(tx, [due.message])) === 1,
    async record(tx, [verdict]) {
      if (verdict?.kind === 'accepted') return recordHop(tx, due, { id: verdict.messageId, text: reason });
      refusal = verdict?.kind === 'refused' ? REFUSALS[verdict.refusal] : 'it cannot be stored';
      throw ROLLBACK;
    },
  });
  await accepted.catch((error: unknown) => {
    if (error !== ROLLBACK) throw error;
  });
  if (refusal !== null) await rejectNext(deps, due, refusal);
}

/**
 * Ends a chain whose next message must not be sent: that message is stored as REJECTED at no price, so that webhooks,
 * the record and the client's id show it.
 */
export async function rejectNext({ pool, now }: Deps, due: DueMessage, reason: string): Promise<void> {
  await transaction(pool, async (tx) => {
    if ((await db.deleteFallbacks(tx, [due.message])) === 0) return;
    const message = toRejected(due);
    const { accountId, id } = message;
    await insertMessages(tx, [message]);
    await insertOpenStates(tx, [message]);
    await recordHop(tx, due, { id, text: `refused: ${reason}` });
    const end = { accountId, id, status: STATUS.REJECTED, doneAt: now(), errorCode: 'REFUSED', errorText: reason };
    await endMessages(tx, [end], { counted: !message.simulation });
  });
}

/** Records in the histories of both messages that one follows the other, and points the client id to the new one. */
async function recordHop(tx: Db, { message, hop }: DueMessage, { id, text }: { id: string; text: string }) {
  const { accountId, clientId, channel } = message;
  const event = { accountId, connectionId: null, kind: 'fallback' } as const;
  await Promise.all([
    insertEvents(tx, [
      {
        ...event,
        messageId: message.id,
        text: `followed by a message on ${hop.channel}: ${text}`,
        details: { channel: hop.channel, messageId: id },
      },
      {
        ...event,
        messageId: id,
        text: `follows a message on ${channel}: ${text}`,
        details: { channel, messageId: message.id },
      },
    ]),
    ...(clientId === null ? [] : [db.updateNewestId(tx, { accountId, clientId, id: message.id, newestId: id })]),
  ]);
}

const toDraft = ({ message, hop, laterHops }: DueMessage): Draft =>
  newDraft({
    ...inheritedOf(message),
    channel: hop.channel,
    sender: hop.sender,
    body: hop.body,
    content: hop.content,
    hops: laterHops,
    isHop: true,
    isKnownNumber: true,
  });

const toRejected = ({ message, hop }: DueMessage): NewMessage =>
  newMessage({
    ...inheritedOf(message),
    accountId: message.accountId,
    id: newId(),
    channel: hop.channel,
    connectionId: null,
    routeReason: null,
    sender: hop.sender,
    askedSender: null,
    body: hop.body,
    content: hop.content,
    priceMicros: 0,
    refundUndelivered: false,
    apiKeyId: message.keyId,
    userId: message.userId,
  });
