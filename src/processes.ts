import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { type Closers, createDemo, openBase, openSandbox, openSession, type Stopping, startWith } from './base.ts';
import { endsWithin } from './core/background.ts';
import type { Config } from './core/config.ts';
import { explainDatabaseError, StartupError } from './core/db/startup-error.ts';
import type { Log } from './core/log.ts';
import { findFreePort } from './core/machine.ts';
import { collectProcessMetrics, createMetrics, type MetricsReport, reportOf } from './core/metrics.ts';
import type { Member, RemoteSandbox } from './probes.ts';
import { type Program, type Roles, startProgram } from './serve.ts';

/** Processes that have not reported by then are omitted, so that a scrape always gets a response. */
const ANSWER_MS = 1000;

/** Creates a collector of the measurements of all processes. */
function askAll(workers: () => readonly Worker[]) {
  const waiting = new Map<number, (report: MetricsReport) => void>();
  let lastId = 0;
  return {
    /** Receives the report of a process. */
    answer: (id: number, report: MetricsReport): void => waiting.get(id)?.(report),
    /** Resolves with the reports that arrive within a second. */
    async ask(): Promise<readonly MetricsReport[]> {
      const reports: MetricsReport[] = [];
      const asked = workers().map((worker) => {
        const id = (lastId += 1);
        const { promise, resolve } = Promise.withResolvers<void>();
        waiting.set(id, (report) => {
          reports.push(report);
          resolve();
        });
        worker.send({ kind: 'measure', id }, () => undefined);
        return { id, promise };
      });
      await endsWithin(Promise.all(asked.map(({ promise }) => promise)), ANSWER_MS);
      for (const { id } of asked) waiting.delete(id);
      return reports;
    },
  };
}

const MAIN = fileURLToPath(new URL('./main.ts', import.meta.url));

/** A process that ran for this long has not failed to start: the next end counts as its first. */
const STEADY_MS = 60_000;
/** This many ends in a row, with growing pauses between them, end the program. */
const MAX_ENDS = 5;
const PAUSE_MS = 250;
/** Less than the program has for closing everything (`base.ts`), so that hanging processes are killed in time. */
const STOP_MS = 8500;
const KILLED_MS = 300;

/** The processes of a program that listen at one address. */
type Members = {
  readonly address: string | null;
  pids(): readonly number[];
  /** Resolves if a process ends again and again, with an error for the operator. */
  readonly failed: Promise<StartupError>;
};

type MembersDeps = {
  readonly orders: readonly StartOrder[];
  /** Returns the measurements of this process. */
  readonly measureHere: () => Promise<MetricsReport>;
  readonly log: Log;
  /**
   * Called before the first process is started, with the function that stops all of them. That function kills those
   * that have not ended in 8.5 s, and then rejects.
   */
  readonly onStop: (stop: () => Promise<void>) => void;
  /** Called with the function that kills all of them immediately. */
  readonly onHalt: (halt: () => Promise<void>) => void;
};

/** One place among the processes. Another process takes it when one ends. */
type Seat = {
  readonly order: StartOrder;
  worker: Worker | null;
  ready: boolean;
  startedAt: number;
  /** Number of consecutive exits of its process. */
  ends: number;
  restart: NodeJS.Timeout | undefined;
  /** Reason why its process could not start. */
  reason: string | null;
};

/**
 * Starts a process for each order and restarts those that end. Their servers share one address: this process accepts
 * the connections and hands them out in turn. Rejects if one of them cannot start.
 */
async function startMembers({ orders, measureHere, log, onStop, onHalt }: MembersDeps): Promise<Members> {
  const failed = Promise.withResolvers<StartupError>();
  const started = Promise.withResolvers<string | null>();
  const seats = orders.map(
    (order): Seat => ({ order, worker: null, ready: false, startedAt: 0, ends: 0, restart: undefined, reason: null }),
  );
  const reports = askAll(() => seats.flatMap(({ worker, ready }) => (worker && ready ? [worker] : [])));
  let isStarted = false;
  let isStopping = false;

  function begin(seat: Seat): void {
    const worker = cluster.fork();
    Object.assign(seat, { worker, ready: false, startedAt: performance.now(), reason: null });
    worker.on('message', (news: News) => hear(seat, worker, news));
    worker.once('exit', (code, signal) => end(seat, { code, signal }));
    worker.on('error', (err) => {
      log.warn({ err, pid: worker.process.pid }, 'a process cannot be reached');
      // Without memory for another process, for example, it has not begun, and so it cannot end.
      if (worker.process.pid === undefined) end(seat, { code: 1, signal: null });
    });
    send(worker, { kind: 'start', order: seat.order });
  }

  function hear(seat: Seat, worker: Worker, news: News): void {
    if (news.kind === 'measured') return reports.answer(news.id, news.report);
    if (news.kind === 'collect') return void collect(worker, news.id);
    if (news.kind === 'failed') return void (seat.reason = news.reason);
    seat.ready = true;
    tellPeers();
    if (!seats.every(({ ready }) => ready)) return;
    isStarted = true;
    started.resolve(news.address);
  }

  async function collect(worker: Worker, id: number): Promise<void> {
    const [here, others] = await Promise.all([measureHere(), reports.ask()]);
    send(worker, { kind: 'collected', id, reports: [here, ...others] });
  }

  function tellPeers(): void {
    const running = seats.filter(({ ready }) => ready).length;
    for (const { worker } of seats) if (worker) send(worker, { kind: 'peers', running, wanted: seats.length });
  }

  function end(seat: Seat, { code, signal }: { code: number; signal: string | null }): void {
    const { number } = seat.order;
    Object.assign(seat, { worker: null, ready: false });
    if (isStopping) return;
    tellPeers();
    const how = seat.reason ?? (signal ? `ended by ${signal}` : `exit code ${code}`);
    if (!isStarted)
      return started.reject(new StartupError(seat.reason ?? `Process ${number} could not start: ${how}.`));
    seat.ends = performance.now() - seat.startedAt > STEADY_MS ? 1 : seat.ends + 1;
    log.error({ reason: how, count: seat.ends }, `process ${number} ended`);
    if (seat.ends >= MAX_ENDS) return failed.resolve(tooOften(number, how));
    seat.restart = setTimeout(() => begin(seat), PAUSE_MS * 2 ** (seat.ends - 1));
  }

  /** Disables restarts, and returns the running processes with a promise of their ends. */
  function leave(): { workers: readonly Worker[]; ended: Promise<unknown> } {
    isStopping = true;
    started.reject(new Error('stopped while it started'));
    for (const { restart } of seats) clearTimeout(restart);
    const workers = seats.flatMap(({ worker }) => worker ?? []);
    return { workers, ended: Promise.all(workers.map((worker) => once(worker, 'exit'))) };
  }

  async function stop(): Promise<void> {
    const { workers, ended } = leave();
    for (const worker of workers) send(worker, { kind: 'stop' });
    if (await endsWithin(ended, STOP_MS)) return;
    await halt();
    throw new Error('one did not end in time and was killed');
  }

  async function halt(): Promise<void> {
    const { workers, ended } = leave();
    for (const worker of workers) worker.process.kill('SIGKILL');
    await endsWithin(ended, KILLED_MS);
  }

  // All processes write to the same log: they inherit stdout and stderr. "advanced" keeps numbers such as NaN and
  // Infinity.
  cluster.setupPrimary({ exec: MAIN, args: ['serve-process'], serialization: 'advanced' });
  // It may be stopped before anything awaits the start.
  started.promise.catch(() => undefined);
  onStop(stop);
  onHalt(halt);
  for (const seat of seats) begin(seat);
  const address = await started.promise;
  const pids = (): number[] => seats.flatMap(({ worker }) => worker?.process.pid ?? []);
  return { address, pids, failed: failed.promise };
}

/** A process that is ending cannot receive messages; its end is reported. */
const send = (worker: Worker, order: Order): void => void (worker.isConnected() && worker.send(order, () => undefined));

const tooOften = (number: number, how: string): StartupError =>
  new StartupError(
    `Process ${number} ended ${MAX_ENDS} times in a row, the last time with: ${how}. The program stops; see its log.`,
  );

/** Input of a process at its start. Its other settings come from the environment. */
type StartOrder = {
  readonly number: number;
  readonly settings: Pick<Config, 'port' | 'databaseUrl' | 'databasePool'>;
  readonly sandbox: RemoteSandbox | null;
};

/** Message from the process that starts the others to one of them. */
type Order =
  | { readonly kind: 'start'; readonly order: StartOrder }
  | { readonly kind: 'stop' }
  | { readonly kind: 'peers'; readonly running: number; readonly wanted: number }
  | { readonly kind: 'measure'; readonly id: number }
  /** Response to `collect`. */
  | { readonly kind: 'collected'; readonly id: number; readonly reports: readonly MetricsReport[] };

/** Message from one of the other processes to the one that started it. */
type News =
  | { readonly kind: 'ready'; readonly address: string | null }
  /** It could not start; the text is human-readable. */
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'collect'; readonly id: number }
  /** Response to `measure`. */
  | { readonly kind: 'measured'; readonly id: number; readonly report: MetricsReport };

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
  const sandbox = await openSandbox(base, await openSession(base));
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

/** The built-in PostgreSQL takes 60 connections. In addition to its pool, a process has its session. */
const EMBEDDED_CONNECTIONS = 60 - OWN_POOL - 8;
const SESSIONS = 1;

function poolOf({ databasePool }: Config, { count, embedded }: { count: number; embedded: boolean }): number {
  if (!embedded) return databasePool;
  return Math.max(2, Math.min(databasePool, Math.floor(EMBEDDED_CONNECTIONS / count) - SESSIONS));
}
