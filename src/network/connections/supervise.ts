import type { Pool } from 'pg';
import type { Carrier, CarrierState } from '../../carriers/carrier.ts';
import type { Inbound, Receipt } from '../../carriers/events.ts';
import type { Pump } from '../dispatch/pump.ts';
import type { Log } from '../../platform/lib/log.ts';
import * as db from './sql.ts';
import { createTally, type Tally, tallied } from './tally.ts';

export type SuperviseDeps = {
  readonly pool: Pool;
  /** The key of the worker's advisory lock, which identifies it. */
  readonly owner: number;
  readonly log: Log;
  /** Creates the carrier of a connection; throws when its settings or secret cannot be used. */
  readonly makeCarrier: (connection: db.Connection) => Carrier;
  readonly startPump: (connection: db.Connection, carrier: Carrier) => Pump;
  /** True if connections to the sandbox carrier run as well. */
  readonly sandbox: () => boolean;
  readonly onReceipt: (connectionId: number, receipt: Receipt) => Promise<void>;
  readonly onInbound: (connectionId: number, inbound: Inbound) => Promise<void>;
};

export type Running = {
  readonly connection: db.Connection;
  readonly carrier: Carrier;
  readonly pump: Pump;
  readonly tally: Tally;
};

export type Supervisor = {
  /** Starts, restarts and stops connections so that exactly those of the table run, with their current settings. */
  reload(): Promise<void>;
  list(): readonly Running[];
  /** Returns true if a connection runs in this worker. */
  runs(connectionId: number): boolean;
  /**
   * Revokes a message, as `Carrier.revoke`; resolves with false where the carrier cannot, and with null when there was
   * no response or the connection does not run in this worker.
   */
  revoke(connectionId: number, message: Parameters<NonNullable<Carrier['revoke']>>[0]): Promise<boolean | null>;
  /** Divides the rate of each connection among the workers that have it up. */
  shareRates(): Promise<void>;
  /** Stores this worker's view of its connections. */
  report(): Promise<void>;
  /**
   * Stops all connections; each waits up to `deadlineMs` for responses. Afterwards nothing uses the database any more.
   */
  stop(deadlineMs: number): Promise<void>;
};

/** Runs a carrier and a pump for each active connection, and follows changes of the table without a restart. */
export function superviseConnections(deps: SuperviseDeps): Supervisor {
  const running = new Map<number, Running>();
  let reloading = Promise.resolve();
  let stopped = false;

  const seen = new Map<number, CarrierState>();
  async function reportOne({ connection, carrier }: Running): Promise<void> {
    const { up, bindsUp, bindsWanted, fault } = carrier.state();
    await db.insertConnectionStatus(deps.pool, {
      connectionId: connection.id,
      worker: deps.owner,
      up,
      bindsUp,
      bindsWanted,
      fault,
    });
  }

  /** Stores an error that stays until all links are up again, even if this worker ends earlier. */
  async function reportError({ id }: db.Connection, reason: string): Promise<void> {
    const error = { connectionId: id, worker: deps.owner, reason: reason.slice(0, MAX_ERROR_LENGTH) };
    await db
      .insertConnectionError(deps.pool, error)
      .catch((err: unknown) => deps.log.warn({ err }, 'cannot record the error of a connection'));
  }

  async function deleteErrors(runs: readonly Running[]): Promise<void> {
    const connectionIds = runs.filter(({ carrier }) => carrier.state().allLinksUp).map((run) => run.connection.id);
    if (connectionIds.length > 0) await db.deleteConnectionErrors(deps.pool, { worker: deps.owner, connectionIds });
  }

  async function reportFigures(runs: readonly Running[]): Promise<void> {
    const figures = runs.map(({ connection, carrier, tally }) => ({
      ...tally.take(),
      connectionId: connection.id,
      inFlight: carrier.state().inFlight,
    }));
    if (figures.length > 0) await db.updateConnectionFigures(deps.pool, { worker: deps.owner, figures });
  }

  /**
   * Reports are stored one after the other, each with the state at that time, so that the last one stored is the
   * latest.
   */
  let reporting = Promise.resolve();
  const reportSoon = (run: Running): void => {
    reporting = reporting
      .then(() => (running.get(run.connection.id) === run ? reportOne(run).then(() => deleteErrors([run])) : undefined))
      .then(() => db.notifyLinks(deps.pool))
      .catch((err: unknown) => deps.log.warn({ err }, 'cannot record the state of a connection'));
  };

  /** Stores a change of the state itself; most changes are free window slots. */
  function noteChange(run: Running): void {
    const state = run.carrier.state();
    const before = seen.get(run.connection.id);
    if (before && isSame(before, state)) return run.pump.wakeForRoom();
    seen.set(run.connection.id, state);
    run.pump.wake();
    reportSoon(run);
  }

  async function shareRates(): Promise<void> {
    const others = await findOthers();
    for (const { connection, pump } of running.values()) pump.shareRate(1 + (others.get(connection.id) ?? 0));
  }
  const findOthers = async (): Promise<Map<number, number>> =>
    new Map((await db.listWorkersUp(deps.pool, { besides: deps.owner })).map((c) => [c.connectionId, c.workers]));

  function start(connection: db.Connection, others: number): void {
    const tally = createTally();
    const carrier = tallied(deps.makeCarrier(connection), tally);
    const run: Running = { connection, carrier, tally, pump: deps.startPump(connection, carrier) };
    run.pump.shareRate(1 + others);
    running.set(connection.id, run);
    carrier.start({
      receipt: (receipt) => deps.onReceipt(connection.id, receipt),
      inbound: (inbound) => deps.onInbound(connection.id, inbound),
      changed: () => noteChange(run),
      failed: (reason) => void (reporting = reporting.then(() => reportError(connection, reason))),
      log: (level, message, fields) =>
        deps.log[level]({ connectionId: connection.id, connection: connection.name, ...fields }, message),
    });
  }

  async function end(run: Running, deadlineMs: number): Promise<void> {
    const { id } = run.connection;
    running.delete(id);
    seen.delete(id);
    await run.pump.stop(deadlineMs);
    await reportFigures([run]);
    await db.deleteConnectionStatus(deps.pool, { worker: deps.owner, connectionId: id });
    await db.notifyLinks(deps.pool);
  }

  async function align(): Promise<void> {
    const connections = stopped ? [] : await db.listConnections(deps.pool);
    const wanted = new Map(connections.filter(isWanted).map((c) => [c.id, c]));
    const outdated = [...running.values()].filter(
      (run) => wanted.get(run.connection.id)?.version !== run.connection.version,
    );
    await Promise.all(outdated.map((run) => end(run, 5000)));
    const missing = [...wanted.values()].filter(({ id }) => !running.has(id));
    const others = missing.length > 0 ? await findOthers() : new Map<number, number>();
    for (const connection of missing) tryStart(connection, others.get(connection.id) ?? 0);
  }
  const isWanted = (c: db.Connection): boolean => c.status === 'active' && (!c.sandbox || deps.sandbox());

  function tryStart(connection: db.Connection, others: number): void {
    try {
      start(connection, others);
    } catch (err) {
      deps.log.error({ err, connection: connection.name }, 'the connection cannot be started');
      const reason = err instanceof Error ? err.message : String(err);
      reporting = reporting.then(() => reportError(connection, `cannot be started: ${reason}`));
    }
  }

  return {
    reload() {
      reloading = reloading.then(align).catch((err: unknown) => deps.log.error({ err }, 'cannot read the connections'));
      return reloading;
    },
    list: () => [...running.values()],
    runs: (connectionId) => running.has(connectionId),
    async revoke(connectionId, message) {
      const run = running.get(connectionId);
      return run?.carrier.revoke ? run.carrier.revoke(message) : run ? false : null;
    },
    shareRates,
    async report() {
      const runs = [...running.values()];
      for (const run of runs) await reportOne(run);
      await deleteErrors(runs);
      await reportFigures(runs);
      await db.deleteStaleConnectionStatus(deps.pool);
    },
    async stop(deadlineMs) {
      stopped = true;
      await reloading;
      await Promise.all([...running.values()].map((run) => end(run, deadlineMs)));
      await reporting;
    },
  };
}

const MAX_ERROR_LENGTH = 300;

/** Compares states. Called twice for each message, so nothing is built for it. */
const isSame = (a: CarrierState, b: CarrierState): boolean =>
  a.up === b.up && a.bindsUp === b.bindsUp && a.fault === b.fault;
