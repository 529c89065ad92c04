import { always, type Task } from '../../platform/lib/background/task.ts';
import { SECOND_MS } from '../../platform/lib/time.ts';
import { ROUTING_CHANNEL } from '../../network/connections/sql.ts';
import { createCallbackStore, type CallbackStoreDeps } from '../callbacks/store.ts';
import { type PollDeps, pollConnections } from './poll.ts';

/**
 * Fetches receipts and inbound messages from carriers that do not call. Not while sending is paused: a restored copy
 * would take them from the original.
 */
export function pollingTasks(deps: Omit<PollDeps, 'storeCallback'> & CallbackStoreDeps): Task[] {
  const storeCallback = createCallbackStore(deps);
  const work = async (): Promise<number> =>
    (await pollConnections({ ...deps, storeCallback })) ? SECOND_MS : 10 * SECOND_MS;
  return [{ name: 'polling', pausable: true, work, wakeOn: { [ROUTING_CHANNEL]: always } }];
}
