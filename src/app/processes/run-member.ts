import cluster from 'node:cluster';
import { once } from 'node:events';
import type { Config } from '../../platform/config.ts';
import { explainDatabaseError } from '../../platform/db/startup-error.ts';
import { endsWithin } from '../../platform/lib/background/ends-within.ts';
import type { MetricsReport } from '../../platform/metrics.ts';
import type { Member } from '../member.ts';
import { type Roles, startProgram } from '../serve.ts';
import type { Stopping } from '../stop.ts';
import type { News, Order, StartOrder } from './messages.ts';

/**
 * All processes run the same roles, so that each can do all work and take it over. The sandbox is in the process that
 * forked them.
 */
const ROLES: Roles = { api: true, worker: true, sandbox: false };

/** A little longer than the supervisor waits for the reports of all. */
const COLLECT_MS = 1500;

/**
 * Runs one process of a program as directed by the process that forked it, until that one sends stop or a signal
 * arrives. If that process ends, the channel to it closes, and node:cluster ends this one immediately.
 */
export async function runMember(config: Config): Promise<void> {
  const channel = openChannel();
  const order = await channel.order;
  try {
    const circumstances = { stopping: channel.stopping, member: channel.memberOf(order) };
    const program = await startProgram({ ...config, ...order.settings }, ROLES, circumstances);
    tell({ kind: 'ready', address: program.address });
    await channel.stopped;
    await program.stop();
  } catch (error) {
    if (error === channel.stopping.signal.reason) return;
    const explained = explainDatabaseError(error);
    // Printed by the process that forked this one, so that it appears only once.
    tell({ kind: 'failed', reason: explained instanceof Error ? explained.message : String(explained) });
  } finally {
    cluster.worker?.disconnect();
  }
}

const tell = (news: News): void => void process.send?.(news);

function openChannel() {
  const stop = new AbortController();
  const started = Promise.withResolvers<StartOrder>();
  const collecting = new Map<number, (reports: readonly MetricsReport[]) => void>();
  let peers = { running: 1, wanted: 1 };
  let report: () => Promise<MetricsReport> = async () => [];
  let lastId = 0;

  const measure = async (id: number): Promise<void> => tell({ kind: 'measured', id, report: await report() });
  process.on('message', (order: Order) => {
    if (order.kind === 'start') started.resolve(order.order);
    else if (order.kind === 'stop') stop.abort();
    else if (order.kind === 'peers') peers = order;
    else if (order.kind === 'measure') measure(order.id).catch(() => undefined);
    else collecting.get(order.id)?.(order.reports);
  });
  // Both may come from a terminal or from systemd, which signal all processes of a program. A second one is ignored
  // here: that is up to the process that forked this one.
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stop.abort());

  async function collectReports(): Promise<readonly MetricsReport[]> {
    const id = (lastId += 1);
    const { promise, resolve } = Promise.withResolvers<readonly MetricsReport[]>();
    collecting.set(id, resolve);
    tell({ kind: 'collect', id });
    const answered = await endsWithin(promise, COLLECT_MS);
    collecting.delete(id);
    return answered ? promise : [await report()];
  }

  const stopping: Stopping = { signal: stop.signal, onHalt: () => undefined };
  return {
    order: started.promise,
    stopping,
    stopped: once(stop.signal, 'abort'),
    memberOf: ({ number, sandbox }: StartOrder): Member => ({
      number,
      sandbox,
      onReport(next) {
        report = next;
      },
      collectReports,
      peers: () => peers,
    }),
  };
}
