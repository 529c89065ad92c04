import { type Task, untilIdle } from '../../platform/lib/background/task.ts';
import { SECOND_MS } from '../../platform/lib/time.ts';
import { type RefreshDeps, refreshNext } from './refresh.ts';

/** Renews the tokens of social profiles. Pausable: a copy of the database must not use up tokens of the original. */
export const socialTasks = (deps: RefreshDeps): Task[] => [
  { name: 'social profiles', pausable: true, work: untilIdle(() => refreshNext(deps), 30 * SECOND_MS) },
];
