import type { Db } from '../../platform/db/query.ts';
import { isSmppId } from '../../platform/lib/ids.ts';
import { insertInbound, insertReceipts, type NewState } from './sql.ts';

/** An event of a message: that of a webhook has these fields too. */
export type MessageEvent = NewState & { readonly kind: 'DELIVERY' | 'READ' | 'INBOUND' };

const mayBeSubmitted = ({ kind, messageId }: MessageEvent): boolean => kind === 'DELIVERY' && isSmppId(messageId);

/**
 * Puts events into the SMPP outbox in the transaction that makes them true: states of messages whose id shows that they
 * came over SMPP, and inbound messages. Events of other messages take no statement. Each statement is sent before this
 * returns, as a `burst` needs it.
 */
export async function publishToBinds(tx: Db, events: readonly MessageEvent[]): Promise<void> {
  const submitted = events.filter(mayBeSubmitted);
  const inbound = events.filter(({ kind }) => kind === 'INBOUND');
  await Promise.all([
    ...(submitted.length > 0 ? [insertReceipts(tx, submitted)] : []),
    ...(inbound.length > 0 ? [insertInbound(tx, inbound)] : []),
  ]);
}
