import type { Config } from '../../platform/config.ts';
import { findFreePort } from '../../platform/lib/free-port.ts';
import { collectProcessMetrics, createMetrics, reportOf } from '../../platform/metrics.ts';
import { createDemo, openBase, openSandbox } from '../base.ts';
import type { Program } from '../serve.ts';
import { startWith } from '../start.ts';
import type { Closers, Stopping } from '../stop.ts';
import { type Members, startMembers } from './members.ts';

/** A program of several processes. */
export type ManyProcesses = Program & Pick<Members, 'pids' | 'failed'>;

/** This process makes few queries: its pool is small. */
const OWN_POOL = 4;

/**
 * Starts the program in `count` processes, each with the API and a worker, and supervises them from this one: it runs
 * the built-in PostgreSQL, brings the schema up to date and runs the sandbox, and does none of their work. Restarts a
 * process that ends (docs/decisions/0033-several-processes-at-one-address.md).
 */
export const serveMany = (config: Config, count: number, stopping: Stopping): Promise<ManyProcesses> =>
  startWith(stopping, (closers) => open(config, count, { closers, stopping }));

async function open(
  config: Config,
  count: number,
  { closers, stopping }: { closers: Closers; stopping: Stopping },
): Promise<Omit<ManyProcesses, 'stop'>> {
  const own = { ...config, databasePool: OWN_POOL };
  const { base, embedded } = await openBase(own, closers, { stopping, processNumber: 0 });
  const sandbox = await openSandbox(base);
  const demo = embedded ? await createDemo(base, sandbox) : undefined;
  const metrics = createMetrics();
  collectProcessMetrics(metrics);
  const settings = {
    // If all have ended at the same time, their replacements still find the address.
    port: config.port === 0 ? await findFreePort(config.host) : config.port,
    databaseUrl: base.connectionString,
    databasePool: poolOf(config, { count, embedded }),
  };
  const callbackPort = await findFreePort('127.0.0.1');
  const social = sandbox?.social;
  const remote = social ? { apps: social.apps, socialUrl: social.url, callbackPort } : null;
  stopping.signal.throwIfAborted();
  const members = await startMembers({
    orders: Array.from({ length: count }, (_, i) => ({ number: i + 1, settings, sandbox: remote })),
    measureHere: () => reportOf(metrics, 0),
    log: base.log,
    onHalt: stopping.onHalt,
    onStop: (stop) => closers.add('processes', stop),
  });
  await sandbox?.startCallbacks(callbackPort);
  const { address, pids, failed } = members;
  return { address, health: null, demo, pids, failed };
}

/** The built-in PostgreSQL takes 60 connections. In addition to its pool, a process has three for notifications. */
const EMBEDDED_CONNECTIONS = 60 - OWN_POOL - 8;
const SESSIONS = 3;

function poolOf({ databasePool }: Config, { count, embedded }: { count: number; embedded: boolean }): number {
  if (!embedded) return databasePool;
  return Math.max(2, Math.min(databasePool, Math.floor(EMBEDDED_CONNECTIONS / count) - SESSIONS));
}
