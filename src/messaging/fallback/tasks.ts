import { always, type Task, whenDue } from '../../platform/lib/background/task.ts';
import { SECOND_MS } from '../../platform/lib/time.ts';
import { FALLBACKS_CHANNEL, findNextFallbackMs } from '../messages/fallback/sql.ts';
import { createFallbackPoller, type FallbackDeps } from './poll.ts';

/** Sends single messages on their next channel. */
export function fallbackTasks(deps: FallbackDeps): Task[] {
  const fallbacks = createFallbackPoller(deps);
  return [
    {
      name: 'fallbacks',
      pausable: true,
      work: whenDue(
        () => fallbacks.poll(),
        () => findNextFallbackMs(deps.pool),
        10 * SECOND_MS,
      ),
      wakeOn: { [FALLBACKS_CHANNEL]: always },
      close: fallbacks.stop,
    },
  ];
}
