import { always, every, type Task, whenDue } from '../../platform/lib/background/task.ts';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../platform/lib/time.ts';
import { fetchMedia, type FetchDeps } from './media/fetch.ts';
import { findNextMediaMs } from './media/sql.ts';
import { type AutoAnswerDeps, sendAutoAnswers } from './rules/send.ts';
import { deleteOldAutoAnswers, findNextAutoAnswerMs } from './rules/sql.ts';
import { wakeConversations } from './snooze/wake.ts';
import { findNextWakeMs } from './sql.ts';
import { deleteOldInboxEvents, INBOX_CHANNEL } from './stream/sql.ts';
import { pollReplies } from './watch/poll.ts';
import { findNextWatchedMs } from './watch/sql.ts';

const EVENTS_PER_DELETE = 10_000;
/** An automatic answer that comes later, as after a pause, confuses more than it helps. */
const MAX_ANSWER_AGE_MS = HOUR_MS;

/** Follows the status of replies, fetches the files of inbound messages, and deletes old events of live views. */
export const inboxTasks = (deps: FetchDeps & Omit<AutoAnswerDeps, 'clock'> & { readonly now: () => Date }): Task[] => {
  const { pool, now } = deps;
  return [
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
      name: 'inbox media',
      work: whenDue(
        () => fetchMedia(deps),
        () => findNextMediaMs(pool),
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
      name: 'inbox answers',
      pausable: true,
      work: whenDue(
        () => sendAutoAnswers({ ...deps, clock: { now } }),
        () => findNextAutoAnswerMs(pool),
        5 * SECOND_MS,
      ),
      wakeOn: { [INBOX_CHANNEL]: always },
    },
    {
      name: 'old inbox events',
      work: every(10 * MINUTE_MS, async () => {
        while ((await deleteOldInboxEvents(pool, { limit: EVENTS_PER_DELETE })) === EVENTS_PER_DELETE);
        await deleteOldAutoAnswers(pool, { before: new Date(now().getTime() - MAX_ANSWER_AGE_MS) });
      }),
    },
  ];
};
