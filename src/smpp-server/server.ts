import { readFileSync } from 'node:fs';
import net from 'node:net';
import tls from 'node:tls';
import { LRUCache } from 'lru-cache';
import type { Pool } from 'pg';
import { Counter } from 'prom-client';
import type { LoginLimits } from '../accounts/password.ts';
import { type LiveCredential, listKnownNetworks, listLiveCredentials } from '../accounts/smpp-credentials.ts';
import { networkOf } from '../core/address.ts';
import { startLoop } from '../core/background.ts';
import type { Config } from '../core/config.ts';
import { explainListening, StartupError } from '../core/db/startup-error.ts';
import { faultPoint } from '../core/faults.ts';
import { createRateLimiter, type Rate, type RateLimiter } from '../core/limits.ts';
import type { Log } from '../core/log.ts';
import type { Metrics } from '../core/metrics.ts';
import type { Clock } from '../core/time.ts';
import type { Accept } from '../messages/accept.ts';
import { createListener, type Listener } from '../smpp/link.ts';
import { STATUS } from '../smpp/status.ts';
import { startDeliveries } from './deliveries.ts';
import { createRequests } from './requests.ts';
import {
  createPduBudget,
  createSession,
  messagesIn,
  type Request,
  type Session,
  type SessionDeps,
  TIMING,
  type Timing,
} from './session.ts';
import { type BindReport, createSignIn, deleteBinds, refusalOf, toClient, updateBindReports } from './sign-in.ts';

export type SmppServerOptions = {
  readonly listen: Omit<Config['smpp'], 'passedTags' | 'unboundPerMinute'>;
  readonly pool: Pool;
  readonly accept: Accept;
  readonly clock: Clock;
  /** The limits of failed attempts, which all ways to sign in share. */
  readonly limits: LoginLimits;
  /** Counts messages by credential, together with other processes. */
  readonly limiter: RateLimiter;
  /** Connections of one network in a minute that do not lead to a bind; 0: any number. */
  readonly unboundPerMinute: number;
  /** The tags of optional parameters that are passed on to carriers. */
  readonly passedTags: ReadonlySet<number>;
  /** The advisory lock that shows that this process is alive. */
  readonly owner: number;
  readonly log: Log;
  /** Called with the status of the response to each request, for metrics. */
  readonly answered?: SessionDeps['answered'];
  /** Called when a client has sent a PDU that cannot be read, or not to its end, for metrics. */
  readonly unreadable?: () => void;
  /** Called with the exceeded bound of a connection that was closed immediately, for metrics. */
  readonly refused?: (bound: ConnectionBound) => void;
  readonly timing?: Timing;
};

export type SmppServer = {
  /** The port on which it listens; null: not listening. */
  readonly port: number | null;
  readonly tlsPort: number | null;
  /** Returns how many binds are open here. */
  binds(): number;
  /**
   * Called when permissions of an account or its credentials have changed; '' means that notifications may have been
   * missed.
   */
  onAccountChange(payload: string): void;
  /** Called when deliveries were put into the outbox. */
  onDeliveries(): void;
  /** Takes no connections and no requests any more, responds to those it has read, and unbinds, within `graceMs`. */
  close(graceMs?: number): Promise<void>;
};

/** Fault point: replaces the budget of PDUs of a connection. */
export const PDU_BUDGET = faultPoint<typeof createPduBudget>();

const SWEEP_MS = 1000;
const CLOSE_MS = 2000;

/**
 * Listens for customers who bind over SMPP. Rejects with a StartupError when a port or the certificate cannot be used.
 */
export async function startSmppServer(options: SmppServerOptions): Promise<SmppServer> {
  const { listen, pool, owner, log, timing = TIMING } = options;
  const sessions = new Set<Session>();
  const unbound = limitUnboundConnections({
    attemptsPerMinute: options.unboundPerMinute,
    known: await listKnownNetworks(pool),
  });
  const signIn = createSignIn({ pool, limits: options.limits, owner });
  const answer = createRequests(options);
  const deliveries = startDeliveries({ pool, owner, log, sessions: () => sessions });
  const credentials = followCredentials({ pool, log, sessions: () => sessions });
  const reports = reportBinds({ pool, log, sessions: () => sessions, everyMs: timing.reportMs });
  const context = secureContext(listen);
  const budget = PDU_BUDGET.pass(createPduBudget);
  /** Settled when the last session ends, once none begins any more. */
  let emptied = Promise.withResolvers<void>();

  function connect(raw: net.Socket, secure: tls.SecureContext | null): void {
    const address = raw.remoteAddress ?? '';
    const admitted = unbound.admit(address);
    // A reset leaves nothing behind, not even an ended connection that waits in our kernel.
    if (typeof admitted === 'string') {
      options.refused?.(admitted);
      return void raw.resetAndDestroy();
    }
    // 'close' follows every error.
    raw.on('error', () => undefined);
    raw.once('close', admitted.ended);
    const socket = secure ? new tls.TLSSocket(raw, { isServer: true, secureContext: secure }) : raw;
    const session = createSession(socket, address, {
      timing,
      log,
      budget,
      signIn,
      answer,
      answered: options.answered,
      unreadable: options.unreadable,
      bound() {
        admitted.bound();
        deliveries.wake();
        credentials.bound();
      },
      closed(ended) {
        sessions.delete(ended);
        if (ended.bind) credentials.ended(ended.bind.id);
        if (sessions.size === 0) emptied.resolve();
      },
    });
    sessions.add(session);
  }

  const listeners: Listener[] = [];
  async function open(
    port: number | undefined,
    secure: tls.SecureContext | null,
    setting: string,
  ): Promise<number | null> {
    if (port === undefined) return null;
    const server = net.createServer((socket) => connect(socket, secure));
    const at = { host: listen.host, port, setting, hostSetting: 'SMPP_HOST' };
    const listener = await explainListening(createListener(server, listen.host, port), at);
    listeners.push(listener);
    log.info({ host: listen.host, port: listener.port, tls: secure !== null }, 'listening for SMPP');
    return listener.port;
  }

  async function close(graceMs = CLOSE_MS): Promise<void> {
    for (const listener of listeners) listener.close();
    emptied = Promise.withResolvers();
    if (sessions.size === 0) emptied.resolve();
    for (const session of sessions) session.leave('the gateway stops');
    const timer = setTimeout(emptied.resolve, graceMs);
    await emptied.promise;
    clearTimeout(timer);
    await Promise.all(listeners.map((listener) => listener.drop()));
    clearInterval(sweeper);
    await Promise.all([deliveries.stop(), reports.stop(), credentials.stop()]);
  }

  const sweeper = setInterval(() => sessions.forEach((session) => session.sweep()), SWEEP_MS);
  try {
    const port = await open(listen.port, null, 'SMPP_PORT');
    const tlsPort = await open(listen.tlsPort, context, 'SMPP_TLS_PORT');
    return {
      port,
      tlsPort,
      binds: () => [...sessions].filter((session) => session.bind !== null).length,
      onAccountChange: credentials.onAccountChange,
      onDeliveries: deliveries.wake,
      close,
    };
  } catch (error) {
    await close(0);
    throw error;
  }
}

function secureContext({ tls: files, tlsPort }: SmppServerOptions['listen']): tls.SecureContext | null {
  if (!files || tlsPort === undefined) return null;
  try {
    const [cert, key] = [readFileSync(files.certFile), readFileSync(files.keyFile)];
    return tls.createSecureContext({ cert, key, minVersion: 'TLSv1.2' });
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new StartupError(`The certificate of SMPP_TLS_PORT cannot be used: ${reason}`, { cause });
  }
}

/** Maximum open connections without a bind: of one network, and of all. */
const MAX_PER_NETWORK = 20;
const MAX_IN_ALL = 1000;
/** Attempts of all new networks together, as a multiple of those of one: about 3 ms of work each, most of it TLS. */
const NETWORKS_IN_ALL = 20;
/** Binds per minute that do not count as attempts; further ones do: each costs a password hash and a transaction. */
const FREE_BINDS = 5;
/** Maximum networks that are remembered, with about 500 bytes each. */
const MAX_NETWORKS = 10_000;
/** Key of all new networks together in the limiter. */
const ALL_NEW = 'all';

/** The exceeded bound for which a connection is closed before anything is read. */
export type ConnectionBound = 'connections_of_network' | 'connections' | 'attempts_of_network' | 'attempts';

/** A connection that was admitted. Both functions may be called in any order, and twice. */
export type Admitted = {
  /** Called when it has bound: it no longer counts as unbound, and was no attempt. */
  bound(): void;
  ended(): void;
};

export type UnboundConnections = {
  admit(address: string): Admitted | ConnectionBound;
};

type Options = {
  /** Connections of one network in a minute that do not lead to a bind; 0: any number. */
  readonly attemptsPerMinute: number;
  /** Networks from which a client had bound before this process started. */
  readonly known?: readonly string[];
  readonly perNetwork?: number;
  readonly inAll?: number;
  /** A monotonic clock in ms. */
  readonly now?: () => number;
};

/**
 * Creates the bounds of connections that have not bound: how many are open, and how many begin in a minute, of one
 * network and of all. They are checked before the TLS handshake. Networks from which a client has bound are counted
 * separately, so that unauthenticated clients cannot take the places of customers; each process counts for itself, in
 * at most 10 MB.
 */
export function limitUnboundConnections(options: Options): UnboundConnections {
  const { attemptsPerMinute, perNetwork = MAX_PER_NETWORK, inAll = MAX_IN_ALL, now } = options;
  const limiter = createRateLimiter({ maxNames: MAX_NETWORKS, ...(now && { now }) });
  const binds = createRateLimiter({ maxNames: MAX_NETWORKS, ...(now && { now }) });
  const known = new LRUCache<string, true>({ max: MAX_NETWORKS });
  for (const network of options.known ?? []) known.set(network, true);
  const openOf = new Map<string, number>();
  const open = { known: 0, new: 0 };
  const ofNetwork = rateOf(attemptsPerMinute);
  const ofAll = rateOf(attemptsPerMinute * NETWORKS_IN_ALL);

  function exceeded(network: string, kind: keyof typeof open): ConnectionBound | null {
    if ((openOf.get(network) ?? 0) >= perNetwork) return 'connections_of_network';
    if (open[kind] >= inAll) return 'connections';
    if (attemptsPerMinute === 0) return null;
    if (!limiter.take(network, ofNetwork).allowed) return 'attempts_of_network';
    if (kind === 'known' || limiter.take(ALL_NEW, ofAll).allowed) return null;
    limiter.refund(network);
    return 'attempts';
  }

  function refund(network: string, kind: keyof typeof open): void {
    if (attemptsPerMinute === 0 || !binds.take(network, rateOf(attemptsPerMinute * FREE_BINDS)).allowed) return;
    limiter.refund(network);
    if (kind === 'new') limiter.refund(ALL_NEW);
  }

  return {
    admit(address) {
      const network = networkOf(address);
      const kind = known.get(network) ? 'known' : 'new';
      const bound = exceeded(network, kind);
      if (bound !== null) return bound;
      openOf.set(network, (openOf.get(network) ?? 0) + 1);
      open[kind] += 1;
      let hasLeft = false;
      const leave = (): boolean => {
        if (hasLeft) return false;
        hasLeft = true;
        open[kind] -= 1;
        const rest = (openOf.get(network) ?? 1) - 1;
        if (rest === 0) openOf.delete(network);
        else openOf.set(network, rest);
        return true;
      };
      return {
        bound() {
          if (!leave()) return;
          known.set(network, true);
          refund(network, kind);
        },
        ended: () => void leave(),
      };
    },
  };
}

/** Converts a rate per minute. All of it may be used within one second: a customer opens its binds together. */
const rateOf = (perMinute: number): Rate => ({ perMinute, perSecond: perMinute });

type Deps = {
  readonly pool: Pool;
  readonly log: Log;
  sessions(): Iterable<Session>;
};

/**
 * Notifications announce changes immediately; this interval is for missed ones, and for changes without a notification.
 */
const FOLLOW_MS = 10_000;

/**
 * Updates open binds with the permissions of their credentials and accounts: a bind whose credential was deleted or has
 * another password, whose account was suspended, moved or lost SMS, or whose address is not allowed any more, is
 * closed; the others get their new limits immediately. It also removes ended binds from the database, and tries again
 * when that fails.
 */
function followCredentials({ pool, log, sessions }: Deps) {
  const endedIds = new Set<number>();

  async function work(): Promise<number> {
    await Promise.all([removeEnded(), follow()]);
    return FOLLOW_MS;
  }

  async function removeEnded(): Promise<void> {
    const ids = [...endedIds];
    if (ids.length === 0) return;
    await deleteBinds(pool, { ids });
    for (const id of ids) endedIds.delete(id);
  }

  async function follow(): Promise<void> {
    const bound = [...sessions()].filter(({ bind }) => bind !== null);
    const ids = [...new Set(bound.flatMap(({ bind }) => (bind ? [bind.client.id] : [])))];
    if (ids.length === 0) return;
    const rows = new Map((await listLiveCredentials(pool, { ids })).map((row) => [row.id, row]));
    for (const session of bound) apply(session, rows);
  }

  function apply(session: Session, rows: ReadonlyMap<number, LiveCredential>): void {
    if (!session.bind) return;
    const { id, passwordHash } = session.bind.client;
    const row = rows.get(id);
    const reason = !row
      ? 'the credential was deleted'
      : row.passwordHash !== passwordHash
        ? 'the password was changed'
        : refusalOf(row, session.address);
    if (row && reason === null) session.follow(toClient(row));
    else session.leave(reason ?? '');
  }

  const isConcerned = (payload: string): boolean =>
    payload === '' || [...sessions()].some(({ bind }) => String(bind?.client.accountId) === payload);

  const loop = startLoop('SMPP credentials', work, log);
  return {
    onAccountChange(payload: string): void {
      if (isConcerned(payload)) loop.wake();
    },
    /** A bind has opened: its credential may have changed while it was checked. */
    bound: () => loop.wake(),
    ended(bindId: number): void {
      endedIds.add(bindId);
      loop.wake();
    },
    async stop(): Promise<void> {
      await loop.stop();
      // They do not count any more when this process has ended.
      await removeEnded().catch((err: unknown) => log.warn({ err }, 'ended SMPP binds could not be removed'));
    },
  };
}

type ReportDeps = {
  readonly pool: Pool;
  readonly log: Log;
  sessions(): Iterable<Session>;
  readonly everyMs: number;
};

const SECOND_MS = 1000;

/**
 * Stores the activity of this process's binds at intervals, for the operator's list, in one statement and only where
 * something has changed.
 */
function reportBinds({ pool, log, sessions, everyMs }: ReportDeps): { stop(): Promise<void> } {
  let last = new Map<number, BindReport>();
  let reportedAt = performance.now();

  async function work(): Promise<number> {
    const now = performance.now();
    const seconds = Math.max(0.001, (now - reportedAt) / SECOND_MS);
    const reports = [...sessions()].flatMap((session) => {
      if (!session.bind) return [];
      const { id } = session.bind;
      const { submits, throttled, unanswered } = session.activity();
      const perSecond = Math.round((submits - (last.get(id)?.submits ?? 0)) / seconds);
      return [{ id, submits, throttled, perSecond, unanswered }];
    });
    const changed = reports.filter((report) => hasChanged(report, last.get(report.id)));
    if (changed.length > 0) await updateBindReports(pool, { reports: changed });
    last = new Map(reports.map((report) => [report.id, report]));
    reportedAt = now;
    return everyMs;
  }

  return startLoop('SMPP reports', work, log);
}

const NOTHING = { submits: 0, throttled: 0, perSecond: 0, unanswered: 0 };

function hasChanged(report: BindReport, before: Omit<BindReport, 'id'> = NOTHING): boolean {
  return (['submits', 'throttled', 'perSecond', 'unanswered'] as const).some((name) => report[name] !== before[name]);
}

/** Registers the counter of submits by their outcome, and returns the function that counts a response. */
export function countSubmits({ registry }: Pick<Metrics, 'registry'>): (request: Request, status: number) => void {
  const counter = new Counter({
    name: 'heliograph_smpp_submits_total',
    help: 'Messages that customers submitted over SMPP, by outcome',
    labelNames: ['outcome'] as const,
    registers: [registry],
  });
  return (request, status) => {
    const messages = messagesIn(request);
    if (messages > 0) counter.inc({ outcome: outcomeOf(status) }, messages);
  };
}

/** Classifies a status; `failed`: nothing is wrong with the message, and the client may send it again. */
function outcomeOf(status: number): 'accepted' | 'throttled' | 'failed' | 'refused' {
  if (status === STATUS.ESME_ROK) return 'accepted';
  if (status === STATUS.ESME_RTHROTTLED) return 'throttled';
  return status === STATUS.ESME_RSYSERR ? 'failed' : 'refused';
}

/**
 * Registers the counter of connections that were closed immediately, by their bound, and returns the function that
 * counts one.
 */
export function countRefusedConnections({ registry }: Pick<Metrics, 'registry'>): (bound: ConnectionBound) => void {
  const counter = new Counter({
    name: 'heliograph_smpp_refused_total',
    help: 'Connections to the SMPP server that were closed before anything was read, by the bound that they exceeded',
    labelNames: ['bound'] as const,
    registers: [registry],
  });
  return (bound) => counter.inc({ bound });
}
