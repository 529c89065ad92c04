import type { Pool } from 'pg';
import type { Log } from '../../platform/lib/log.ts';
import type { Task } from '../../platform/lib/background/task.ts';
import { SECOND_MS } from '../../platform/lib/time.ts';
import type { Settle } from './commit.ts';
import { rescueChunks } from './rescue.ts';
import type { Waker } from './wake.ts';

export type RescueDeps = {
  readonly pool: Pool;
  readonly waker: Waker;
  readonly settle: Settle;
  readonly log: Log;
};

/** Takes over the chunks of dead workers. */
export const dispatchTasks = ({ pool, waker, settle, log }: RescueDeps): Task[] => [
  {
    name: 'rescue',
    async work() {
      const { chunks, unknown, connectionIds } = await rescueChunks(pool, settle);
      if (chunks > 0) log.warn({ count: chunks, state: `${unknown} unknown` }, 'took over the chunks of a dead worker');
      for (const id of connectionIds) waker.wake(id);
      return chunks > 0 ? 0 : 0.8 * SECOND_MS;
    },
  },
];
