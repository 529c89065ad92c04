import { always, every, type Task, whenDue } from '../../platform/lib/background/task.ts';
import { firstIdAt } from '../../platform/lib/ids.ts';
import { DAY_MS, HOUR_MS, SECOND_MS } from '../../platform/lib/time.ts';
import { carryOutActions, INNER_KINDS, type KeywordDeps, OUTER_KINDS } from './carry-out.ts';
import { type ActionKind, deleteOldActions, deleteOldCounts, findNextActionMs, KEYWORDS_CHANNEL } from './sql.ts';

const KEEP_MS = 3 * DAY_MS;

type Deps = KeywordDeps & { readonly now: () => Date };

/** Sends replies to inbound messages with keywords and forwards copies, and deletes counts of past hours. */
export const keywordTasks = (deps: Deps): Task[] => [
  carrying('keywords', INNER_KINDS, deps),
  // Separate, so that no reply waits behind a slow receiver.
  carrying('copies to URLs', OUTER_KINDS, deps),
  {
    name: 'old keywords',
    work: every(HOUR_MS, async () => {
      const now = deps.now().getTime();
      await deleteOldCounts(deps.pool, { before: new Date(now - HOUR_MS) });
      await deleteOldActions(deps.pool, { beforeId: firstIdAt(new Date(now - KEEP_MS)) });
    }),
  },
];

const carrying = (name: string, kinds: readonly ActionKind[], deps: Deps): Task => ({
  name,
  pausable: true,
  work: whenDue(
    () => carryOutActions(deps, kinds),
    () => findNextActionMs(deps.pool, { kinds }),
    5 * SECOND_MS,
  ),
  wakeOn: { [KEYWORDS_CHANNEL]: always },
});
