import { LINKS_CHANNEL, ROUTING_CHANNEL } from '../../network/connections/sql.ts';
import type { Task } from '../../platform/lib/background/task.ts';
import type { RestoreGuard } from './guard.ts';

/** Checks that this database is not a restored copy. The wake covers a NOTIFY that was missed after a lost session. */
export const restoreGuardTasks = (guard: RestoreGuard): Task[] => [
  {
    name: 'restore guard',
    work: guard.check,
    wakeOn: { [LINKS_CHANNEL]: isReconnect, [ROUTING_CHANNEL]: isReconnect },
    close: guard.stop,
  },
];

const isReconnect = (payload: string): boolean => payload === '';
