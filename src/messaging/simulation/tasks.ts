import type { Pool } from 'pg';
import { always, type Task, whenDue } from '../../platform/lib/background/task.ts';
import { SECOND_MS } from '../../platform/lib/time.ts';
import { endSimulated } from './simulate.ts';
import { findNextSimulatedMs, SIMULATED_CHANNEL } from './sql.ts';

/** Ends simulated messages when their time has come. */
export const simulationTasks = ({ pool }: { readonly pool: Pool }): Task[] => [
  {
    name: 'simulated outcomes',
    pausable: true,
    work: whenDue(
      () => endSimulated(pool),
      () => findNextSimulatedMs(pool),
      10 * SECOND_MS,
    ),
    wakeOn: { [SIMULATED_CHANNEL]: always },
  },
];
