import type { Db } from '../../platform/db/query.ts';
import { publishToBinds } from '../smpp-outbox/publish.ts';
import { insertOutbox, type NewWebhookEvent } from './outbox/sql.ts';

/**
 * Publishes events to the webhooks and the SMPP binds of their accounts, in the transaction that makes the events true:
 * a committed event is delivered at least once, a rolled-back one never. Events of accounts without an active webhook,
 * and kinds that the form of the webhook does not have, are omitted.
 *
 * One statement per batch (and one for the binds, where events may concern them), sent before this returns, as a
 * `burst` needs it. Call it after the statements that move the messages: events of one message are delivered in the
 * order of publication.
 */
export async function publishEvents(tx: Db, events: readonly NewWebhookEvent[]): Promise<void> {
  if (events.length > 0) await Promise.all([insertOutbox(tx, events), publishToBinds(tx, events)]);
}
