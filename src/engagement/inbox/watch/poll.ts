import type { Pool } from 'pg';
import type { Db } from '../../../platform/db/query.ts';
import { transaction } from '../../../platform/db/transaction.ts';
import { timeOfId } from '../../../platform/lib/ids.ts';
import { isFinal, STATUS, type StatusName } from '../../../messaging/states.ts';
import { type DeliveryStatus, findStatuses } from '../answer.ts';
import { claimInboxes } from '../sql.ts';
import { publishInboxChanges } from '../publish.ts';
import { claimWatchedReplies, deleteWatchedReplies, updateWatchedReplies, type WatchedReply } from './sql.ts';
import { DAY_MS, SECOND_MS } from '../../../platform/lib/time.ts';

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
