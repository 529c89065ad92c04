import type { Db } from '../../platform/db/query.ts';
import { insertOutbox, type NewWebhookEvent } from './outbox/sql.ts';

/**
 * Tells the webhooks of these events' accounts, in the transaction that makes the events true: what is committed is
 * told at least once, what is rolled back never. Events of an account without an active webhook, and kinds that the
 * form of its registration does not have, are left out.
 *
 * One statement a batch, sent before this returns, as a `burst` wants it. Call it after the statements that move the
 * messages: events of one message go out in the order in which they were published.
 */
export async function publishEvents(tx: Db, events: readonly NewWebhookEvent[]): Promise<void> {
  if (events.length > 0) await insertOutbox(tx, events);
}
