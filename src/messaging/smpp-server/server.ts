import { readFileSync } from 'node:fs';
import net from 'node:net';
import tls from 'node:tls';
import type { Pool } from 'pg';
import { createListener, type Listener } from '../../carriers/smpp/listener.ts';
import { listKnownNetworks } from '../../identity/smpp-credentials/sql.ts';
import type { LoginLimits } from '../../identity/users/login-limits.ts';
import type { Config } from '../../platform/config.ts';
import { StartupError } from '../../platform/db/startup-error.ts';
import type { Clock } from '../../platform/lib/clock.ts';
import type { Log } from '../../platform/lib/log.ts';
import type { RateLimiter } from '../../platform/lib/limits/rate-limit.ts';
import type { Accept } from '../sending/accept.ts';
import { startDeliveries } from './deliveries.ts';
import { followCredentials } from './follow-credentials.ts';
import { reportBinds } from './report-binds.ts';
import { createRequests } from './requests.ts';
import { createSession, type Session, type SessionDeps, TIMING, type Timing } from './session.ts';
import { createSignIn } from './sign-in.ts';
import { createStrangers, type StrangerBound } from './strangers.ts';

export type SmppServerOptions = {
  readonly listen: Omit<Config['smpp'], 'passedTags' | 'strangersPerMinute'>;
  readonly pool: Pool;
  readonly accept: Accept;
  readonly clock: Clock;
  /** The limits of failed attempts, which all ways to sign in share. */
  readonly limits: LoginLimits;
  /** Counts messages by credential, together with other processes. */
  readonly limiter: RateLimiter;
  /** Connections of one network in a minute that do not lead to a bind; 0: any number. */
  readonly strangersPerMinute: number;
  readonly maxScheduleDays: number;
  /** The tags of optional parameters that are passed on to carriers. */
  readonly passedTags: ReadonlySet<number>;
  /** The advisory lock that shows that this process is alive. */
  readonly owner: number;
  readonly log: Log;
  /** Called with the status of the response to each request, for metrics. */
  readonly answered?: SessionDeps['answered'];
  /** Called with the exceeded bound of a connection that was closed immediately, for metrics. */
  readonly refused?: (bound: StrangerBound) => void;
  readonly timing?: Timing;
};

/** A listening SMPP server. */
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
  /** Takes no connections and no requests any more, answers those it has read, and unbinds, within `graceMs`. */
  close(graceMs?: number): Promise<void>;
};

const SWEEP_MS = 1000;
const CLOSE_MS = 2000;

/**
 * Listens for customers who bind over SMPP. Rejects with a StartupError when a port or the certificate cannot be used.
 */
export async function startSmppServer(options: SmppServerOptions): Promise<SmppServer> {
  const { listen, pool, owner, log, timing = TIMING } = options;
  const sessions = new Set<Session>();
  const strangers = createStrangers({
    attemptsPerMinute: options.strangersPerMinute,
    known: await listKnownNetworks(pool),
  });
  const signIn = createSignIn({ pool, limits: options.limits, owner });
  const answer = createRequests(options);
  const deliveries = startDeliveries({ pool, owner, log, sessions: () => sessions });
  const credentials = followCredentials({ pool, log, sessions: () => sessions });
  const reports = reportBinds({ pool, log, sessions: () => sessions, everyMs: timing.reportMs });
  const context = secureContext(listen);
  /** Settled when the last session ends, once none begins any more. */
  let emptied = Promise.withResolvers<void>();

  function connect(raw: net.Socket, secure: tls.SecureContext | null): void {
    const address = raw.remoteAddress ?? '';
    const admitted = strangers.admit(address);
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
      signIn,
      answer,
      answered: options.answered,
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
    const listener = await explained(createListener(server, listen.host, port), { ...listen, port, setting });
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

type At = { readonly host: string; readonly port: number; readonly setting: string };

/** Explanations of listen errors, with their remedy, by error code. */
const SENTENCES: Readonly<Record<string, (at: At) => string>> = {
  EADDRINUSE: ({ port, setting }) =>
    `Port ${port} is in use: stop the program that uses it, or set ${setting} to another port.`,
  EACCES: ({ port, setting }) => `Port ${port} needs root privileges: set ${setting} to a port above 1023.`,
  EADDRNOTAVAIL: ({ host }) => `${host} is not an address of this machine: correct SMPP_HOST.`,
  ENOTFOUND: ({ host }) => `The host name ${host} cannot be resolved: correct SMPP_HOST.`,
};

async function explained<T>(listening: Promise<T>, at: At): Promise<T> {
  try {
    return await listening;
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
    const sentence = SENTENCES[code]?.(at);
    throw sentence === undefined ? cause : new StartupError(sentence, { cause });
  }
}
