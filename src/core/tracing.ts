import {
  createTraceState,
  ProxyTracerProvider,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import type { Channel } from './channels.ts';
import { groupCommit } from './db/transaction.ts';
import { type TraceMark, traceMarkOf } from './ids.ts';
import type { Log } from './log.ts';
import { maskNumbersIn } from './phone.ts';

/** The stages of a message that have a span. */
type StageName = 'accept' | 'claim' | 'submit' | 'receipt' | 'webhook';

export type MessageKey = { readonly accountId: number; readonly messageId: string };

/** Attributes of a stage in addition to its message. Contains no phone numbers or texts. */
type StageResult = {
  readonly channel?: Channel;
  readonly connection?: string;
  readonly status?: string;
  /** The error code of a carrier or of a receiver; shown only with `failed`. */
  readonly code?: string | null;
  readonly failed?: boolean;
};

/** A stage that has ended, in milliseconds since 1970. */
type Stage = MessageKey & StageResult & { readonly name: StageName; readonly startMs: number; readonly endMs: number };

/** Decision of the caller of a single message about its trace. */
export type Caller = { readonly mark: TraceMark; readonly context: TraceContext };

type Headers = Readonly<Record<string, unknown>>;

/** A stage in progress, whose request to another system continues the trace. */
type OpenStage = {
  readonly headers: Readonly<Record<string, string>>;
  end(result: StageResult): void;
};

/** The traces of messages, in a program that was started with an SDK. Without one nothing is traced. */
export type Tracing = {
  /**
   * Returns true if a message is traced, as far as it is not up to the SDK. The result is the same in each process, at
   * any time.
   */
  follows(messageId: string): boolean;
  /** Records the span of a stage of a traced message. Returns immediately and never throws. */
  record(stage: Stage): void;
  /** Begins a stage of a message; null if it is not traced. Never rejects. */
  begin(name: StageName, key: MessageKey): Promise<OpenStage | null>;
  /** Reads a request's decision about the trace of its message; undefined if there is none. */
  callerOf(headers: Headers): Caller | undefined;
  /** Resolves when all recorded stages have been passed on. */
  settled(): Promise<void>;
};

export type TracingDeps = {
  /** Creates the spans, and decides by the trace id which of them are kept. */
  readonly tracer: Tracer;
  /** Finds the contexts stored with messages; null for those without one. */
  readonly findContexts: (keys: MessageKey[]) => Promise<(TraceContext | null)[]>;
  readonly log: Log;
};

/** Maximum waiting stages; further ones are dropped: they wait only for a context that is read from the database. */
const MAX_WAITING = 10_000;
const MAX_KEYS_PER_QUERY = 500;
const MAX_CODE_LENGTH = 64;

/** Returns the tracer of an SDK that was loaded before the program (docs/monitoring.md); null if none was. */
export function findTracer(): Tracer | null {
  const provider = trace.getTracerProvider();
  // The provider is our own, without a delegate, unless an SDK has registered one in its copy of the package.
  const isOwn = provider instanceof ProxyTracerProvider && provider.getDelegateTracer('heliograph') === undefined;
  return isOwn ? null : provider.getTracer('heliograph');
}

/**
 * Creates the traces of messages. The id of a message is its trace id, so all processes agree on it, and on the
 * decision to keep it, without anything stored. Only a message that continues its caller's trace has the context of the
 * caller in the database, and its id shows that.
 */
export function createTracing({ tracer, findContexts, log }: TracingDeps): Tracing {
  const findContext = groupCommit({ flush: findContexts, maxItems: MAX_KEYS_PER_QUERY, inFlight: 1 });
  const waiting = new Set<Promise<void>>();

  async function start(name: StageName, key: MessageKey, startMs: number): Promise<Span> {
    const isMarked = traceMarkOf(key.messageId) === 'follow';
    // One message in 65,536 has the mark by chance, and no caller.
    const caller = isMarked ? await findContext(key) : null;
    const parent = caller ? contextOfCaller(caller) : ownContext(key.messageId);
    return tracer.startSpan(name, { startTime: startMs }, trace.setSpanContext(ROOT_CONTEXT, parent));
  }

  async function pass(stage: Stage): Promise<void> {
    const { name, startMs, endMs } = stage;
    end(await start(name, stage, startMs), stage, Math.max(startMs, endMs));
  }

  function end(span: Span, stage: MessageKey & StageResult, endMs: number): void {
    if (span.isRecording()) span.setAttributes(attributesOf(stage));
    if (stage.failed) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end(endMs);
  }

  const warn = (err: unknown) => log.warn({ err }, 'a span of a trace is missing');

  return {
    follows: (messageId) => traceMarkOf(messageId) !== 'ignore',
    record(stage) {
      if (waiting.size >= MAX_WAITING) return;
      const passed = pass(stage)
        .catch(warn)
        .finally(() => waiting.delete(passed));
      waiting.add(passed);
    },
    async begin(name, key) {
      if (traceMarkOf(key.messageId) === 'ignore') return null;
      try {
        const span = await start(name, key, Date.now());
        if (!span.isRecording()) return null;
        const { traceId, spanId, traceState } = span.spanContext();
        const headers = traceHeaders({ traceId, spanId, state: traceState?.serialize() || null });
        return { headers, end: (result) => end(span, { ...key, ...result }, Date.now()) };
      } catch (err) {
        warn(err);
        return null;
      }
    },
    callerOf(headers) {
      const context = readTraceContext(textOf(headers['traceparent']), textOf(headers['tracestate']));
      return context ? { mark: context.sampled ? 'follow' : 'ignore', context } : undefined;
    },
    async settled() {
      await Promise.all(waiting);
    },
  };
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/**
 * The context of a message with its own trace. Its spans are below a span that no process makes, the second half of the
 * message's id. It is not remote: so a sampler can distinguish it from the trace of a caller.
 */
const ownContext = (messageId: string): SpanContext => ({
  traceId: messageId.replaceAll('-', ''),
  spanId: messageId.slice(19, 23) + messageId.slice(24),
  traceFlags: TraceFlags.SAMPLED,
});

const contextOfCaller = ({ traceId, spanId, state }: TraceContext): SpanContext => ({
  traceId,
  spanId,
  traceFlags: TraceFlags.SAMPLED,
  isRemote: true,
  ...(state === null ? {} : { traceState: createTraceState(state) }),
});

const attributesOf = ({
  accountId,
  messageId,
  channel,
  connection,
  status,
  code,
  failed,
}: MessageKey & StageResult) => ({
  'heliograph.account.id': accountId,
  'heliograph.message.id': messageId,
  ...(channel === undefined ? {} : { 'heliograph.channel': channel }),
  ...(connection === undefined ? {} : { 'heliograph.connection': connection }),
  ...(status === undefined ? {} : { 'heliograph.status': status }),
  ...(code && failed === true ? { 'error.type': shownCode(code) } : {}),
});

/** Carriers choose their codes, and one may quote a phone number. A number in hex is a code. */
const shownCode = (code: string): string =>
  /^0x[\da-f]{1,8}$/i.test(code) ? code : maskNumbersIn(code).slice(0, MAX_CODE_LENGTH);

/** A place in a trace, as the headers `traceparent` and `tracestate` name it (W3C Trace Context, level 1). */
export type TraceContext = {
  /** 32 hex digits. */
  readonly traceId: string;
  /** 16 hex digits: the span that subsequent spans belong to. */
  readonly spanId: string;
  /** Notes of other systems about the trace; passed on unchanged. */
  readonly state: string | null;
};

/** The context of a request, and its recording flag. */
type CallerContext = TraceContext & { readonly sampled: boolean };

type Header = string | readonly string[] | undefined;

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const ZEROS = /^0+$/;
const TRACESTATE = /^[\x20-\x7e]{1,512}$/;

/** Reads both headers. Null without a valid `traceparent`; an invalid `tracestate` is omitted. */
export function readTraceContext(traceparent: Header, tracestate: Header): CallerContext | null {
  if (typeof traceparent !== 'string') return null;
  const [, version, traceId = '', spanId = '', flags = '', more] = TRACEPARENT.exec(traceparent.trim()) ?? [];
  if (version === undefined || version === 'ff' || (version === '00' && more !== undefined)) return null;
  if (ZEROS.test(traceId) || ZEROS.test(spanId)) return null;
  const state = typeof tracestate === 'string' && TRACESTATE.test(tracestate) ? tracestate : null;
  return { traceId, spanId, state, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

/** Writes the `traceparent` of a recorded trace. */
export const traceparentOf = ({ traceId, spanId }: Pick<TraceContext, 'traceId' | 'spanId'>): string =>
  `00-${traceId}-${spanId}-01`;

/** The headers with which a request continues a recorded trace. */
export const traceHeaders = (context: TraceContext): Record<string, string> => ({
  traceparent: traceparentOf(context),
  ...(context.state === null ? {} : { tracestate: context.state }),
});
