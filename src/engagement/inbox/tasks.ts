import { always, type Task, untilIdle, whenDue } from '../../platform/lib/background/task.ts';
import { MINUTE_MS, SECOND_MS } from '../../platform/lib/time.ts';
import { fetchMedia, type FetchDeps } from './media/fetch.ts';
import { findNextMediaMs } from './media/sql.ts';
import { deleteOldInboxEvents, INBOX_CHANNEL } from './stream/sql.ts';
import { pollReplies } from './watch/poll.ts';
import { findNextWatchedMs } from './watch/sql.ts';

/** Follows the status of replies, fetches the files of inbound messages, and forgets old events of live views. */
export const inboxTasks = (deps: FetchDeps & { readonly now: () => Date }): Task[] => {
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
      name: 'old inbox events',
      work: untilIdle(() => deleteOldInboxEvents(pool, { limit: 10_000 }), 10 * MINUTE_MS),
    },
  ];
};
