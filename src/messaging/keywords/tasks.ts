import { always, every, type Task, whenDue } from '../../platform/lib/background/task.ts';
import { firstIdAt } from '../../platform/lib/ids.ts';
import { DAY_MS, HOUR_MS, SECOND_MS } from '../../platform/lib/time.ts';
import { carryOutActions, type KeywordDeps } from './carry-out.ts';
import { deleteOldActions, deleteOldCounts, findNextActionMs, KEYWORDS_CHANNEL } from './sql.ts';

const KEEP_MS = 3 * DAY_MS;

type Deps = KeywordDeps & { readonly now: () => Date };

/** Answers and passes on inbound messages with keywords, and forgets what no longer counts. */
export const keywordTasks = (deps: Deps): Task[] => [
  {
    name: 'keywords',
    pausable: true,
    work: whenDue(
      () => carryOutActions(deps),
      () => findNextActionMs(deps.pool),
      5 * SECOND_MS,
    ),
    wakeOn: { [KEYWORDS_CHANNEL]: always },
  },
  {
    name: 'old keywords',
    work: every(HOUR_MS, async () => {
      const now = deps.now().getTime();
      await deleteOldCounts(deps.pool, { before: new Date(now - HOUR_MS) });
      await deleteOldActions(deps.pool, { beforeId: firstIdAt(new Date(now - KEEP_MS)) });
    }),
  },
];
