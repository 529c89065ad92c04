import { type Bindings, type DestinationStream, type Logger, type LoggerOptions, pino } from 'pino';
import type { LogLevel } from './config.ts';
import { maskNumber, maskNumbersIn } from './phone.ts';
import { MINUTE_MS } from './time.ts';

/** The program's logger. It writes JSON lines with only the fields below. */
export type AppLog = Logger;

/**
 * The fields that a line may have besides level, time and message. Headers, bodies, keys, passwords, message texts and
 * URLs with ids are kept out by not being listed; `dropped` lists the names of removed fields.
 */
const ALLOWED: ReadonlySet<string> = words(`
  requestId clientRequestId traceId spanId method route status ms
  accountId userId keyId messageId campaignId exportId importId chunkId eventId connectionId
  err code reason detail fault state attempt count leftOut bytes durationMs delayMs deadlineMs retryInMs
  connection carrier channel bind command sequence commandStatus destination sender
  address host port pid signal version file dir migration database worker task job name queue partition`);
const NUMBERS: ReadonlySet<string> = words('destination sender');
/** Texts from outside, which may contain a phone number. */
const TEXTS: ReadonlySet<string> = words('reason detail fault');

/**
 * Creates a logger at this level that writes to stdout or `destination`. Every line is one JSON document, so that a
 * line break in a value cannot start a new line; phone numbers are masked, also in error texts.
 *
 * While a server cannot be reached, everything that needs it fails again and again. Of identical lines about it, one a
 * minute is written, with the number of those omitted before it in `leftOut`.
 */
export function createLog(level: LogLevel, destination?: DestinationStream): AppLog {
  const options: LoggerOptions = {
    level,
    hooks: { logMethod: createRepeatFilter() },
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }), log: allowed },
    serializers: { err: describeError },
  };
  return withAllowedChildren(destination ? pino(options, destination) : pino(options));
}

type LogMethod = NonNullable<NonNullable<LoggerOptions['hooks']>['logMethod']>;

const REPEAT_INTERVAL_MS = MINUTE_MS;
/** Maximum number of kinds, since differing error texts, as by a port number, would add up without limit. */
const MAX_KINDS = 1000;

/** Creates a hook that writes, of the lines of one kind about a lost connection, one in each interval. */
function createRepeatFilter(): LogMethod {
  const kinds = new Map<string, { nextMs: number; leftOut: number }>();
  return function write(args, method, level) {
    const [fields, message] = args as [unknown, unknown];
    const about = lostConnectionIn(fields);
    if (about === null) return void method.apply(this, args);
    const kind = `${level} ${String(message)} ${about}`;
    const [known, nowMs] = [kinds.get(kind), performance.now()];
    if (known !== undefined && nowMs < known.nextMs) return void known.leftOut++;
    if (kinds.size >= MAX_KINDS) kinds.clear();
    kinds.set(kind, { nextMs: nowMs + REPEAT_INTERVAL_MS, leftOut: 0 });
    const leftOut = known?.leftOut ?? 0;
    method.call(this, { ...(fields as object), ...(leftOut > 0 && { leftOut }) }, message as string);
  };
}

/** Returns the lost connection, and the connection to a carrier, that the fields of a line are about; null for none. */
function lostConnectionIn(fields: unknown): string | null {
  if (typeof fields !== 'object' || fields === null) return null;
  const { err, reason, connectionId = '' } = fields as { err?: unknown; reason?: unknown; connectionId?: number };
  const fault = err ?? reason;
  if (!isLostConnection(fault)) return null;
  return `${connectionId} ${fault instanceof Error ? fault.message : String(fault)}`;
}

/** pino passes only the fields of the first logger to `formatters.bindings`, not those of its children. */
function withAllowedChildren(log: AppLog): AppLog {
  const make: (this: AppLog, fields: Bindings) => AppLog = log.child;
  return Object.assign(log, {
    child(this: AppLog, fields: Bindings): AppLog {
      return make.call(this, allowed(fields));
    },
  });
}

function words(list: string): Set<string> {
  return new Set(list.trim().split(/\s+/));
}

function allowed(fields: Record<string, unknown>): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  const dropped: string[] = [];
  for (const [key, value] of Object.entries(fields)) {
    if (ALLOWED.has(key)) out[key] = masked(key, value);
    else dropped.push(key);
  }
  return dropped.length > 0 ? { ...out, dropped } : out;
}

function masked(key: string, value: unknown): unknown {
  if (NUMBERS.has(key)) return maskNumber(String(value));
  return TEXTS.has(key) ? maskNumbersIn(String(value)) : value;
}

/**
 * Describes an error without the fields that libraries attach to it: PostgreSQL's `detail` quotes rows, and HTTP
 * clients attach whole requests with their headers. Causes are followed five levels deep. A lost connection has no
 * stack: it leads to the socket, wherever the connection was used.
 */
function describeError(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return maskNumbersIn(String(error));
  const code = 'code' in error ? error.code : undefined;
  const cause = error.cause === undefined || depth === 5 ? undefined : describeError(error.cause, depth + 1);
  return {
    type: error.name,
    code,
    message: maskNumbersIn(error.message),
    stack: isLostConnection(error) ? undefined : maskNumbersIn(error.stack ?? ''),
    cause,
  };
}

type LogLine = (fields: object, message: string) => void;

/** The part of a logger that most code needs; pino's logger has it. */
export type Log = { readonly debug: LogLine; readonly info: LogLine; readonly warn: LogLine; readonly error: LogLine };

const nothing: LogLine = () => {};

/** A logger that discards everything. */
export const silentLog: Log = { debug: nothing, info: nothing, warn: nothing, error: nothing };

/** Socket errors after which a retry may succeed. */
const SOCKET = /\b(ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN)\b/;
/** PostgreSQL: class 08 (connection), and a server that stops, has crashed or is starting. */
const POSTGRESQL = /^(08...|57P0[123])$/;
/**
 * pg and its pool report these without a code; "after calling end" when the program ends before an upload does. A
 * restarting PostgreSQL briefly has no Unix socket; other missing files have the same code.
 */
const POOL =
  /timeout exceeded when trying to connect|Connection terminated|not queryable|Query read timeout|after calling end|connect ENOENT/i;

/**
 * Returns true if an error means that a server could not be reached or its connection was lost, and nothing about the
 * request: a socket error, PostgreSQL's classes for it, or a text of the driver. Of several errors in one, as for a
 * host name with several addresses, any counts. Of an error of which only the text is left, the text counts.
 */
export function isLostConnection(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.some(isLostConnection);
  if (typeof error === 'string') return SOCKET.test(error) || POOL.test(error);
  const code = textOf(error, 'code');
  return SOCKET.test(code) || POSTGRESQL.test(code) || POOL.test(textOf(error, 'message'));
}

/** Returns a property of any thrown value if it is a text, and otherwise an empty one. */
export function textOf(error: unknown, key: 'code' | 'message'): string {
  const value: unknown = typeof error === 'object' && error !== null ? Reflect.get(error, key) : undefined;
  return typeof value === 'string' ? value : '';
}
