import { every, type Task, untilIdle } from '../../platform/lib/background/task.ts';
import { MINUTE_MS, SECOND_MS } from '../../platform/lib/time.ts';
import { endOverdueParts, type InboundDeps } from './receive.ts';
import { deleteOldSeen } from './sql.ts';

/** Completes long inbound messages whose missing parts are overdue, and deletes old hashes of received messages. */
export const inboundTasks = (deps: InboundDeps): Task[] => [
  { name: 'incomplete inbound', work: untilIdle(() => endOverdueParts(deps), 10 * SECOND_MS) },
  { name: 'old inbound', work: every(MINUTE_MS, () => deleteOldSeen(deps.pool)) },
];
