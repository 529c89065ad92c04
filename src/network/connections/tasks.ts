import type { Pool } from 'pg';
import type { Config } from '../../platform/config.ts';
import type { Log } from '../../platform/lib/log.ts';
import { always, every, type Task } from '../../platform/lib/background/task.ts';
import { HOUR_MS, SECOND_MS } from '../../platform/lib/time.ts';
import type { Waker } from '../dispatch/wake.ts';
import { failOver } from './fail-over.ts';
import { deleteDeadConnectionStatus, deleteOldMinutes, LINKS_CHANNEL, notifyLinks, ROUTING_CHANNEL } from './sql.ts';
import type { Supervisor } from './supervise.ts';

export type ConnectionTaskDeps = {
  readonly pool: Pool;
  readonly config: Pick<Config, 'failoverSeconds'>;
  readonly waker: Waker;
  readonly supervisor: Supervisor;
  readonly log: Log;
};

/** Follows changes of connections, shares their rates among workers, and moves messages away from dead ones. */
export const connectionTasks = (deps: ConnectionTaskDeps): Task[] => [
  { name: 'rates', work: every(10 * SECOND_MS, deps.supervisor.shareRates), wakeOn: { [LINKS_CHANNEL]: isChange } },
  {
    name: 'failover',
    work: () => moveFromDead(deps),
    wakeOn: { [LINKS_CHANNEL]: always, [ROUTING_CHANNEL]: always },
  },
  {
    name: 'connections',
    work: every(10 * SECOND_MS, async () => {
      await deps.supervisor.reload();
      await deps.supervisor.report();
    }),
    wakeOn: { [LINKS_CHANNEL]: isReconnect, [ROUTING_CHANNEL]: always },
  },
  { name: 'old figures', work: every(HOUR_MS, () => deleteOldMinutes(deps.pool)) },
];

/** True if there is no payload: the session was away, and other workers may have taken this one for dead. */
const isReconnect = (payload: string): boolean => payload === '';
const isChange = (payload: string): boolean => payload !== '';

/** Moves messages away from dead connections, deletes the views of dead workers; returns when to run again, in ms. */
async function moveFromDead({ pool, log, waker, config }: ConnectionTaskDeps): Promise<number> {
  if ((await deleteDeadConnectionStatus(pool)) > 0) await notifyLinks(pool);
  const { down, more, moves } = await failOver(pool, { deadAfterMs: config.failoverSeconds * SECOND_MS });
  for (const { from, to, connectionId, messages } of moves) {
    log.warn({ connection: from, count: messages, state: `now at ${to}` }, 'messages moved from a dead connection');
    waker.wake(connectionId);
  }
  if (more) return 0;
  if (moves.length > 0) return SECOND_MS / 4;
  return down ? SECOND_MS : 5 * SECOND_MS;
}
