import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { StartupError } from '../../platform/db/startup-error.ts';
import { endsWithin } from '../../platform/lib/background/ends-within.ts';
import type { Log } from '../../platform/lib/log.ts';
import type { MetricsReport } from '../../platform/metrics.ts';
import { askAll } from './ask-all.ts';
import type { News, Order, StartOrder } from './messages.ts';

const MAIN = fileURLToPath(new URL('../main.ts', import.meta.url));

/** A process that ran for this long has not failed to start: the next end counts as its first. */
const STEADY_MS = 60_000;
/** This many ends in a row, with growing pauses between them, end the program. */
const MAX_ENDS = 5;
const PAUSE_MS = 250;
/** Less than the program has for closing everything (`stop.ts`), so that hanging processes are killed in time. */
const STOP_MS = 8500;
const KILLED_MS = 300;

/** The processes of a program that listen at one address. */
export type Members = {
  readonly address: string | null;
  /** The process ids, by number. */
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
export async function startMembers({ orders, measureHere, log, onStop, onHalt }: MembersDeps): Promise<Members> {
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
