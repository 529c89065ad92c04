import type { Pool } from 'pg';
import { always, every, type Task, whenDue } from '../core/background.ts';
import type { Db } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { timeOfId } from '../core/ids.ts';
import { isFinal, STATUS, type StatusName } from '../core/message-state.ts';
import { DAY_MS, MINUTE_MS, SECOND_MS } from '../core/time.ts';
import {
  type DeliveryStatus,
  deleteOldInboxEvents,
  findStatuses,
  INBOX_CHANNEL,
  publishInboxChanges,
  wakeConversations,
} from './conversations.ts';
import {
  claimInboxes,
  claimWatchedReplies,
  deleteWatchedReplies,
  findNextWakeMs,
  findNextWatchedMs,
  updateWatchedReplies,
  type WatchedReply,
} from './store.ts';

const REPLIES_PER_POLL = 500;
/** Age after which an unread reply is hardly ever read. */
const MAX_AGE_MS = 3 * DAY_MS;

type PolledReply = WatchedReply & { readonly now: DeliveryStatus | undefined };

/**
 * Polls the statuses of replies that are under way, and publishes new ones to live views. It polls because the paths of
 * outcomes and receipts (50,000 messages per second) would pay for a check that finds a reply once in thousands of
 * messages.
 *
 * @returns the number of replies that were polled
 */
export function pollReplies(pool: Pool, clock: () => Date): Promise<number> {
  return transaction(pool, async (tx) => {
    const due = await claimWatchedReplies(tx, { limit: REPLIES_PER_POLL });
    if (due.length === 0) return 0;
    const polled = await readStatuses(tx, due);
    const changed = polled.filter(({ status, now }) => now !== undefined && now !== status);
    if (changed.length > 0) await publishStatuses(tx, changed);
    const [done, open] = [polled.filter((one) => isDone(one, clock())), polled.filter((one) => !isDone(one, clock()))];
    if (done.length > 0) await deleteWatchedReplies(tx, done);
    const later = open.map((one) => ({ ...one, status: one.now ?? one.status, dueAt: nextPollAt(one, clock()) }));
    if (later.length > 0) await updateWatchedReplies(tx, later);
    return due.length;
  });
}

async function readStatuses(tx: Db, due: readonly WatchedReply[]): Promise<PolledReply[]> {
  const byAccount = [...Map.groupBy(due, (one) => one.accountId)];
  const polled = await Promise.all(
    byAccount.map(async ([accountId, own]) => {
      const statuses = await findStatuses(tx, { accountId, ids: own.map((one) => one.messageId) });
      return own.map((one) => ({ ...one, now: statuses.get(one.messageId) }));
    }),
  );
  return polled.flat();
}

async function publishStatuses(tx: Db, changed: readonly PolledReply[]): Promise<void> {
  const accountIds = [...new Set(changed.map((one) => one.accountId))].sort((a, b) => a - b);
  await claimInboxes(tx, { accountIds });
  await publishInboxChanges(tx, {
    changed: [],
    events: changed.map(({ accountId, chatId, messageId }) => ({ accountId, kind: 'status', chatId, messageId })),
  });
}

/** Returns true if the status of a reply cannot change any more. A delivered reply may still be read. */
function isDone({ now, messageId }: PolledReply, at: Date): boolean {
  if (now === undefined || now === 'READ' || ageOf(messageId, at) > MAX_AGE_MS) return true;
  return now !== 'DELIVERED' && isFinal(codeOf(now));
}

const codeOf = (name: StatusName): number => STATUS[name];

const ageOf = (messageId: string, at: Date): number => at.getTime() - timeOfId(messageId).getTime();

/**
 * Returns the time at which to poll a reply again: often at first, later once a minute, when it only remains to be
 * read.
 */
const nextPollAt = ({ messageId }: PolledReply, at: Date): Date =>
  new Date(at.getTime() + Math.min(60 * SECOND_MS, Math.max(SECOND_MS / 2, ageOf(messageId, at) / 4)));

const EVENTS_PER_DELETE = 10_000;

/** Follows the status of replies, returns snoozed conversations, and deletes old events of live views. */
export const inboxTasks = ({ pool, now }: { readonly pool: Pool; readonly now: () => Date }): Task[] => [
  {
    name: 'inbox statuses',
    work: whenDue(
      () => pollReplies(pool, now),
      () => findNextWatchedMs(pool),
      10 * SECOND_MS,
    ),
    wakeOn: { [INBOX_CHANNEL]: always },
  },
  {
    name: 'snoozed conversations',
    work: whenDue(
      () => wakeConversations(pool),
      () => findNextWakeMs(pool),
      10 * SECOND_MS,
    ),
    wakeOn: { [INBOX_CHANNEL]: always },
  },
  {
    name: 'old inbox events',
    work: every(10 * MINUTE_MS, async () => {
      while ((await deleteOldInboxEvents(pool, { limit: EVENTS_PER_DELETE })) === EVENTS_PER_DELETE);
    }),
  },
];
