import { lookup } from 'node:dns/promises';
import net, { type LookupFunction } from 'node:net';
import type { Pool } from 'pg';
import type { Carrier, CarrierState, Inbound, Receipt, SignToPerson } from '../channels/carrier.ts';
import { always, every, type Task } from '../core/background.ts';
import type { Config } from '../core/config.ts';
import type { Log } from '../core/log.ts';
import { type Guard, guardedLookup } from '../core/outbound.ts';
import type { SecretKey } from '../core/secrets.ts';
import { HOUR_MS, SECOND_MS } from '../core/time.ts';
import type { Pump, Waker } from '../dispatch/pump.ts';
import * as db from './connection-store.ts';
import {
  type Connection,
  createOutcomeCounter,
  deleteDeadConnectionStatus,
  deleteOldMinutes,
  LINKS_CHANNEL,
  listConnections,
  notifyLinks,
  ROUTING_CHANNEL,
  type OutcomeCounter,
  counting,
} from './connection-store.ts';
import { checkSetup, failOver, secretOf } from './connections.ts';
import type { CarrierContext, Kind, ReadCallback, SetupStep, SharedCallbacks } from './kind.ts';
import { type ConnectionKind, kindOf } from './kinds.ts';

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
  readonly onInbound: (connectionId: number, inbound: Inbound, answered?: Promise<void>) => Promise<void>;
  readonly onUnreadable?: () => void;
};

type Running = {
  readonly connection: db.Connection;
  readonly carrier: Carrier;
  readonly pump: Pump;
  readonly outcomes: OutcomeCounter;
};

export type Supervisor = {
  /** Starts, restarts and stops connections so that exactly those of the table run, with their current settings. */
  reload(): Promise<void>;
  list(): readonly Running[];
  /** Returns true if a connection runs in this worker. */
  runs(connectionId: number): boolean;
  /** Shows a person something, as `Carrier.show`; resolves with false where the carrier cannot, and with null without a link here. */
  show(connectionId: number, sign: SignToPerson): Promise<boolean | null>;
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
    const figures = runs.map(({ connection, carrier, outcomes }) => ({
      ...outcomes.take(),
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
    const outcomes = createOutcomeCounter();
    const carrier = counting(deps.makeCarrier(connection), outcomes);
    const run: Running = { connection, carrier, outcomes, pump: deps.startPump(connection, carrier) };
    run.pump.shareRate(1 + others);
    running.set(connection.id, run);
    carrier.start({
      receipt: (receipt) => deps.onReceipt(connection.id, receipt),
      inbound: (inbound, answered) => deps.onInbound(connection.id, inbound, answered),
      unreadable: () => deps.onUnreadable?.(),
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
    async show(connectionId, sign) {
      const run = running.get(connectionId);
      return run?.carrier.show ? run.carrier.show(sign) : run ? false : null;
    },
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

type ProbeStep = {
  readonly name: 'resolve' | 'connect' | 'bind' | 'exchange' | SetupStep['name'];
  /** Null when an earlier step failed. */
  readonly ok: boolean | null;
  /** The result or the error; the carrier's own words for the last step. */
  readonly detail: string;
  readonly durationMs: number;
};

export type ProbeResult = { readonly ok: boolean; readonly detail: string; readonly steps: ProbeStep[] };

const CONNECT_MS = 5000;
const BIND_MS = 10_000;
const STOP_MS = 2000;

/**
 * Tests a connection once, from this machine and with one link: resolves the host name, opens a connection to the port,
 * then signs in as a worker would. Settings and secret are as `validateSetup` returns them. No message is sent. Where
 * the protocol is described by settings, then shows a request and a response, secrets hidden. Never rejects, and takes
 * at most 30 seconds.
 */
export async function probeConnection(
  connection: { readonly kind: ConnectionKind; readonly settings: object; readonly secret: string },
  context: CarrierContext,
): Promise<ProbeResult> {
  const { addressOf, createCarrier, forTest, isGuarded, showExchange } = kindOf(connection);
  const { host, port } = addressOf(connection.settings);
  const guard = isGuarded ? context.guard : null;
  const steps = await inOrder([
    ['resolve', () => resolve(host, guard)],
    ['connect', () => connect(host, port, guard === null ? undefined : guardedLookup(guard))],
    ['bind', () => signIn(createCarrier(forTest(connection.settings), connection.secret, context))],
  ]);
  const shown = showExchange === null ? [] : [await exchange(showExchange, connection, context)];
  const failed = steps.find(({ ok }) => ok === false);
  return { ok: failed === undefined, detail: failed?.detail ?? 'up', steps: [...steps, ...shown] };
}

/**
 * `probeConnection` for a stored connection. Once it is up, also checks the set-up at the carrier; takes at most 50
 * seconds.
 */
export async function probeStored(
  connection: Connection,
  key: SecretKey,
  context: CarrierContext,
): Promise<ProbeResult> {
  const probed = await probeConnection({ ...connection, secret: secretOf(connection, key) }, context);
  if (!probed.ok) return probed;
  const started = performance.now();
  const checked = await checkSetup(connection, key);
  const durationMs = Math.round(performance.now() - started);
  const failed = checked.find(({ ok }) => !ok);
  return {
    ok: failed === undefined,
    detail: failed?.detail ?? probed.detail,
    steps: [...probed.steps, ...checked.map((one) => ({ ...one, durationMs }))],
  };
}

type Work = readonly [name: ProbeStep['name'], work: () => Promise<string>];

/** Runs the steps one after the other, up to the first that fails. */
async function inOrder(works: readonly Work[]): Promise<ProbeStep[]> {
  const steps: ProbeStep[] = [];
  for (const [name, work] of works) {
    const after = steps.some(({ ok }) => ok !== true);
    steps.push(after ? { name, ok: null, detail: 'not tried', durationMs: 0 } : await step(name, work));
  }
  return steps;
}

async function step(...[name, work]: Work): Promise<ProbeStep> {
  const started = performance.now();
  const done = (ok: boolean, detail: string) => ({
    name,
    ok,
    detail,
    durationMs: Math.round(performance.now() - started),
  });
  return work().then(
    (detail) => done(true, detail),
    (error: unknown) => done(false, error instanceof Error ? error.message : String(error)),
  );
}

/** Shows a request and a response, without judging them: the step before did that. */
async function exchange(
  show: NonNullable<Kind['showExchange']>,
  { settings, secret }: { readonly settings: object; readonly secret: string },
  context: CarrierContext,
): Promise<ProbeStep> {
  return step('exchange', async () => {
    const { request, answer } = await show(settings, secret, context);
    return `A message would be sent like this:\n${request}\n\nThe carrier's response to a test request:\n${answer}`;
  });
}

async function resolve(host: string, guard: Guard | null): Promise<string> {
  if (guard !== null) return (await guard.resolveAllowed(host)).join(', ');
  const addresses = await lookup(host, { all: true });
  return addresses.map(({ address }) => address).join(', ');
}

/** Dials the addresses that `allowed` returns for a name: a name server may respond differently than a moment before. */
function connect(host: string, port: number, allowed: LookupFunction | undefined): Promise<string> {
  return new Promise((done, fail) => {
    const socket = net.connect({ host, port, timeout: CONNECT_MS, ...(allowed && { lookup: allowed }) });
    const end = (): void => void socket.destroy();
    socket.once('connect', () => done(`port ${port} is open`)).once('connect', end);
    socket.once('timeout', () => fail(new Error(`no response from port ${port} within ${CONNECT_MS / 1000} s`)));
    socket.once('timeout', end).once('error', fail);
  });
}

/** Starts the carrier and waits until it is up or reports an error. */
async function signIn(carrier: Carrier): Promise<string> {
  const { promise: settled, resolve: settle } = Promise.withResolvers<void>();
  const timer = setTimeout(settle, BIND_MS);
  let heard = `no response within ${BIND_MS / 1000} s`;
  const refuse = (): Promise<void> => Promise.reject(new Error('this is a test'));
  carrier.start({
    receipt: refuse,
    inbound: refuse,
    changed() {
      const { up, fault } = carrier.state();
      if (up || fault !== null) settle();
    },
    failed(reason) {
      heard = reason;
      settle();
    },
    log: () => undefined,
  });
  await settled;
  clearTimeout(timer);
  const { up, fault } = carrier.state();
  await carrier.stop(STOP_MS);
  if (!up) throw new Error(fault ?? heard);
  return 'the carrier accepts the sign-in';
}

/** A connection whose carrier posts callbacks to us. */
export type Receiver = {
  readonly connectionId: number;
  readonly read: ReadCallback;
  /** Application at the carrier that it shares with other connections. */
  readonly shared?: SharedCallbacks | undefined;
};

export type Receivers = {
  /** Returns the receiver of a callback URL; undefined when there is no such connection. */
  find(kind: ConnectionKind, name: string): Receiver | undefined;
  /** Returns the receivers of an application at a carrier that have one of its accounts, the oldest first. */
  sharing(of: Pick<SharedCallbacks, 'app' | 'owner'>): readonly SharingReceiver[];
  /** Reads the connections again. */
  reload(): Promise<void>;
};

/** A receiver whose callbacks may arrive at the URL of another one. */
export type SharingReceiver = Receiver & { readonly shared: SharedCallbacks };

type Known = Receiver & { readonly version: number; readonly kind: ConnectionKind };
const isSharing = (receiver: Known): receiver is Known & SharingReceiver => receiver.shared !== undefined;
const shareKey = ({ app, owner }: Pick<SharedCallbacks, 'app' | 'owner'>): string => `${app} ${owner}`;

/**
 * Keeps the connections whose carriers post callbacks in memory, with their secrets, so that a signature is checked
 * without a query. Paused connections are included, because their receipts still arrive.
 */
export function createReceivers(deps: {
  readonly pool: Pool;
  readonly secretKey: SecretKey;
  readonly log: Log;
}): Receivers {
  let byName: ReadonlyMap<string, Known> = new Map();
  let byOwner: ReadonlyMap<string, readonly SharingReceiver[]> = new Map();

  function know(connection: Connection): Known[] {
    const { id: connectionId, name, kind, version, settings } = connection;
    const known = byName.get(name);
    if (known?.connectionId === connectionId && known.version === version) return [known];
    try {
      const { callbacks } = kindOf(connection);
      if (!callbacks) return [];
      const secret = secretOf(connection, deps.secretKey);
      const read = callbacks.createReader(settings, secret);
      return [{ connectionId, kind, version, read, shared: callbacks.sharedBy?.(settings, secret) }];
    } catch (err) {
      deps.log.error({ err, connection: name }, 'callbacks of the connection cannot be read');
      return [];
    }
  }

  return {
    find(kind, name) {
      const known = byName.get(name);
      return known?.kind === kind ? known : undefined;
    },
    sharing: (of) => byOwner.get(shareKey(of)) ?? [],
    async reload() {
      const connections = await listConnections(deps.pool);
      byName = new Map(connections.flatMap((c) => know(c).map((known) => [c.name, known] as const)));
      byOwner = Map.groupBy([...byName.values()].filter(isSharing), ({ shared }) => shareKey(shared));
    },
  };
}

type ConnectionTaskDeps = {
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
