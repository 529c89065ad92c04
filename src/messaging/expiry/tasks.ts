import type { Pool } from 'pg';
import { type Task, untilIdle, whenDue } from '../../platform/lib/background/task.ts';
import { MINUTE_MS, SECOND_MS } from '../../platform/lib/time.ts';
import { expireDeadlines, expireQueued, expireDefaultValidity } from './expire.ts';
import { findNextDeadlineMs } from './sql.ts';

/** Ends messages whose validity is over while their carrier is silent, or that were not sent in time. */
export const expiryTasks = ({ pool, now }: { readonly pool: Pool; readonly now: () => Date }): Task[] => [
  {
    name: 'deadlines',
    pausable: true,
    work: whenDue(
      () => expireDeadlines(pool, now),
      () => findNextDeadlineMs(pool),
      5 * SECOND_MS,
    ),
  },
  {
    name: 'usual validity',
    pausable: true,
    work: () => expireDefaultValidity(pool, now).then((waitMs) => Math.min(waitMs, MINUTE_MS)),
  },
  { name: 'old in the queue', pausable: true, work: untilIdle(() => expireQueued(pool, now), 10 * MINUTE_MS) },
];
