import type { NewMessage } from './new/sql.ts';
import type { Db } from '../../platform/db/query.ts';
import type { Result } from '../../network/dispatch/commit.ts';
import type { NewWebhookEvent } from '../webhooks/outbox/sql.ts';
import { publishEvents } from '../webhooks/publish.ts';
import type { MessageRead, StateMove } from './sql.ts';
import { STATUS } from '../states.ts';

/**
 * Publishes the outcomes that change something for the client: a carrier accepted or rejected the message. An unknown
 * outcome and another attempt change nothing. The statement is sent before this returns, as a `burst` needs it.
 */
export const publishOutcomes = (tx: Db, news: readonly Result[]): Promise<void> =>
  publishEvents(tx, news.filter(isChange).map(toEvent));

const isChange = ({ outcome }: Result): boolean => outcome.kind === 'accepted' || outcome.kind === 'refused';

const toEvent = ({ accountId, messageId, outcome }: Result): NewWebhookEvent => ({
  accountId,
  kind: 'DELIVERY',
  messageId,
  status: outcome.kind === 'refused' ? STATUS[outcome.status] : STATUS.ACCEPTED,
  at: null,
  error: outcome.kind === 'refused' ? outcome.text : null,
});

/** Publishes that messages were accepted without a carrier, as simulated ones are. */
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
 * Publishes the final states of messages, and after them that messages were read.
 *
 * @param stayed ids of the messages that had a final state before: a repeated receipt is not published
 */
export const publishFinalStates = (
  tx: Db,
  moves: readonly StateMove[],
  { stayed, read }: { readonly stayed: ReadonlySet<string>; readonly read: readonly MessageRead[] },
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

const toRead = ({ accountId, id, readAt }: MessageRead): NewWebhookEvent => ({
  accountId,
  kind: 'READ',
  messageId: id,
  status: null,
  at: readAt,
  error: null,
});
