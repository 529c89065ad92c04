import type { Db } from '../../platform/db/query.ts';
import type { Result } from '../../network/dispatch/pump.ts';
import type { NewWebhookEvent } from '../webhooks/outbox/sql.ts';
import { publishEvents } from '../webhooks/publish.ts';
import type { NewMessage, Read, StateMove } from './sql.ts';
import { STATUS } from '../states.ts';

/**
 * Tells webhooks of outcomes that are news: taken by a carrier, or refused. An unknown outcome or another attempt
 * changes nothing for the client. Sent before this returns, as a `burst` wants it.
 */
export const publishOutcomes = (tx: Db, news: readonly Result[]): Promise<void> =>
  publishEvents(tx, news.filter(isChange).map(toEvent));

const isChange = ({ outcome }: Result): boolean => outcome.kind === 'accepted' || outcome.kind === 'refused';

const toEvent = ({ accountId, messageId, outcome }: Result) => ({
  accountId,
  kind: 'DELIVERY' as const,
  messageId,
  status: outcome.kind === 'refused' ? STATUS[outcome.status] : STATUS.ACCEPTED,
  at: null,
  error: outcome.kind === 'refused' ? outcome.text : null,
});

/** Tells webhooks of messages that are accepted without a carrier: simulated ones. */
export const publishAccepted = (tx: Db, messages: readonly NewMessage[]): Promise<void> =>
  publishEvents(
    tx,
    messages.map(({ accountId, id }) => ({
      accountId,
      kind: 'DELIVERY',
      messageId: id,
      status: STATUS.ACCEPTED,
      at: null,
      error: null,
    })),
  );

/**
 * Tells webhooks of messages that moved to their end, and then of those that were read.
 *
 * @param stayed ids of those that had an end already: a doubled receipt is told to nobody
 */
export const publishFinalStates = (
  tx: Db,
  moves: readonly StateMove[],
  { stayed, read }: { readonly stayed: ReadonlySet<string>; readonly read: readonly Read[] },
): Promise<void> =>
  publishEvents(tx, [
    ...(stayed.size === 0 ? moves : moves.filter(({ id }) => !stayed.has(id))).map(toDelivery),
    ...read.map(toRead),
  ]);

const toDelivery = ({ accountId, id, status, doneAt, errorText }: StateMove): NewWebhookEvent => ({
  accountId,
  kind: 'DELIVERY',
  messageId: id,
  status,
  at: doneAt,
  error: errorText,
});

const toRead = ({ accountId, id, readAt }: Read): NewWebhookEvent => ({
  accountId,
  kind: 'READ',
  messageId: id,
  status: null,
  at: readAt,
  error: null,
});
