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
/** Who has not read an answer by then hardly ever will. */
const MAX_AGE_MS = 3 * DAY_MS;

type PolledReply = WatchedReply & { readonly now: DeliveryStatus | undefined };

/**
 * Looks what has become of answers that are under way, and tells those who look on of what is new. By looking, since the
 * paths of outcomes and receipts (50,000 messages a second) would pay for a question of which one in thousands says yes.
 *
 * @returns how many were looked at
 */
export function pollReplies(pool: Pool, clock: () => Date): Promise<number> {
  return transaction(pool, async (tx) => {
    const due = await claimWatchedReplies(tx, { limit: REPLIES_PER_POLL });
    if (due.length === 0) return 0;
    const looked = await readStatuses(tx, due);
    const news = looked.filter(({ status, now }) => now !== undefined && now !== status);
    if (news.length > 0) await publishStatuses(tx, news);
    const [over, open] = [looked.filter((one) => isDone(one, clock())), looked.filter((one) => !isDone(one, clock()))];
    if (over.length > 0) await deleteWatchedReplies(tx, over);
    const later = open.map((one) => ({ ...one, status: one.now ?? one.status, dueAt: nextPollAt(one, clock()) }));
    if (later.length > 0) await updateWatchedReplies(tx, later);
    return due.length;
  });
}

async function readStatuses(tx: Db, due: readonly WatchedReply[]): Promise<PolledReply[]> {
  const byAccount = [...Map.groupBy(due, (one) => one.accountId)];
  const looked = await Promise.all(
    byAccount.map(async ([accountId, own]) => {
      const statuses = await findStatuses(tx, { accountId, ids: own.map((one) => one.messageId) });
      return own.map((one) => ({ ...one, now: statuses.get(one.messageId) }));
    }),
  );
  return looked.flat();
}

async function publishStatuses(tx: Db, news: readonly PolledReply[]): Promise<void> {
  const accountIds = [...new Set(news.map((one) => one.accountId))].sort((a, b) => a - b);
  await claimInboxes(tx, { accountIds });
  await publishInboxChanges(tx, {
    changed: [],
    events: news.map(({ accountId, chatId, messageId }) => ({ accountId, kind: 'status', chatId, messageId })),
  });
}

/** What was delivered may still be read. */
function isDone({ now, messageId }: PolledReply, at: Date): boolean {
  if (now === undefined || now === 'READ' || ageOf(messageId, at) > MAX_AGE_MS) return true;
  return now !== 'DELIVERED' && isFinal(codeOf(now));
}

const codeOf = (name: StatusName): number => STATUS[name];

const ageOf = (messageId: string, at: Date): number => at.getTime() - timeOfId(messageId).getTime();

/** Often at first, later once a minute: what is waited for then is that somebody reads. */
const nextPollAt = ({ messageId }: PolledReply, at: Date): Date =>
  new Date(at.getTime() + Math.min(60 * SECOND_MS, Math.max(SECOND_MS / 2, ageOf(messageId, at) / 4)));
