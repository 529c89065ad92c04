import { randomBytes } from 'node:crypto';
import type { Sampling } from '../config.ts';
import { groupCommit } from '../db/group-commit.ts';
import type { Channel } from '../lib/channel.ts';
import { traceMarkOf, type TraceMark } from '../lib/ids.ts';
import type { Log } from '../lib/log.ts';
import { maskNumbersIn } from '../lib/phone/mask.ts';
import { readTraceContext, traceHeaders, type TraceContext } from './traceparent.ts';

/** The stages of a message that have a span. `accept` is the first one, and the parent of the others. */
export type StageName = 'accept' | 'claim' | 'submit' | 'receipt' | 'webhook';

export type MessageKey = { readonly accountId: number; readonly messageId: string };

/** What is known about a stage besides its message. There is no room for numbers and texts. */
export type StageResult = {
  readonly channel?: Channel;
  /** The name of the connection. */
  readonly connection?: string;
  readonly status?: string;
  /** The error code of a carrier or of a receiver; shown only with `failed`. */
  readonly code?: string | null;
  readonly failed?: boolean;
};

/** A stage that has ended, in milliseconds since 1970. */
export type Stage = MessageKey &
  StageResult & { readonly name: StageName; readonly startMs: number; readonly endMs: number };

/** A span as it is exported. */
export type SpanData = {
  readonly name: StageName;
  readonly traceId: string;
  readonly spanId: string;
  /** Null for the first span of a trace. */
  readonly parentId: string | null;
  readonly state: string | null;
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Readonly<Record<string, string | number>>;
  readonly failed: boolean;
};

/** What the caller of a single message has decided about its trace. */
export type Caller = { readonly mark: TraceMark; readonly context: TraceContext };

type Headers = Readonly<Record<string, unknown>>;

/** A stage that has begun and whose request to another system continues the trace. */
export type OpenStage = {
  readonly headers: Readonly<Record<string, string>>;
  end(result: StageResult): void;
};

/** The traces of messages, in a program that exports them. Where it does not, there is none, and nobody is asked. */
export type Tracing = {
  /** Whether a message is traced. The answer is the same in each process, at any time. */
  follows(messageId: string): boolean;
  /** Makes the span of a stage of a traced message. Returns at once and never throws. */
  record(stage: Stage): void;
  /** Begins a stage of a message; null if it is not traced. Never rejects. */
  begin(name: StageName, key: MessageKey): Promise<OpenStage | null>;
  /** Reads what a request decides about the trace of its message; undefined if that is not up to it. */
  callerOf(headers: Headers): Caller | undefined;
  /** Resolves when all recorded stages have been passed on. */
  settled(): Promise<void>;
};

export type TracingDeps = {
  readonly sampling: Sampling;
  /** Finds the contexts that were stored with messages; null where there is none. */
  readonly findContexts: (keys: MessageKey[]) => Promise<(TraceContext | null)[]>;
  readonly emit: (span: SpanData) => void;
  readonly log: Log;
};

/** Beyond this, stages are dropped: they wait only for a context that is read from the database. */
const MAX_WAITING = 10_000;
const MAX_KEYS_PER_QUERY = 500;
const MAX_CODE_LENGTH = 64;

/**
 * Creates the traces of messages. The id of a message is its trace id, and random digits of it decide whether it is traced:
 * so all processes agree, and nothing is stored. Only a message that continues its caller's trace has the context of the
 * caller in the database, and its id says so (docs/decisions/0036-traces-by-message-id.md).
 */
export function createTracing({ sampling, findContexts, emit, log }: TracingDeps): Tracing {
  const findContext = groupCommit({ flush: findContexts, maxItems: MAX_KEYS_PER_QUERY, inFlight: 1 });
  const waiting = new Set<Promise<void>>();

  async function contextOf(key: MessageKey): Promise<TraceContext | null> {
    return traceMarkOf(key.messageId) === 'follow' ? findContext(key) : null;
  }

  async function pass(stage: Stage, spanId?: string): Promise<void> {
    const caller = await contextOf(stage);
    if (caller || hasOwnTrace(stage.messageId)) emit(spanOf(stage, caller, spanId));
  }

  function record(stage: Stage, spanId?: string): void {
    if (waiting.size >= MAX_WAITING) return;
    const passed = pass(stage, spanId)
      .catch((err: unknown) => log.warn({ err }, 'a span of a trace is missing'))
      .finally(() => waiting.delete(passed));
    waiting.add(passed);
  }

  const isChosen = (messageId: string): boolean => positionOf(messageId) < sampling.share;

  /** Whether a message that is followed is traced although no context is stored: its mark may be there by chance. */
  const hasOwnTrace = (messageId: string): boolean => traceMarkOf(messageId) === null || isChosen(messageId);

  const follows = (messageId: string): boolean => {
    const mark = traceMarkOf(messageId);
    return mark === null ? isChosen(messageId) : mark === 'follow';
  };

  return {
    follows,
    record,
    async begin(name, key) {
      if (!follows(key.messageId)) return null;
      const startMs = Date.now();
      try {
        const caller = await contextOf(key);
        if (!caller && !hasOwnTrace(key.messageId)) return null;
        const { state, traceId } = caller ?? ownContext(key.messageId);
        const spanId = newSpanId();
        return {
          headers: traceHeaders({ traceId, spanId, state }),
          end: (result) => record({ ...key, ...result, name, startMs, endMs: Date.now() }, spanId),
        };
      } catch (err) {
        log.warn({ err }, 'a span of a trace is missing');
        return null;
      }
    },
    callerOf(headers) {
      if (!sampling.followsCaller) return undefined;
      const context = readTraceContext(textOf(headers['traceparent']), textOf(headers['tracestate']));
      return context ? { mark: context.sampled ? 'follow' : 'ignore', context } : undefined;
    },
    async settled() {
      await Promise.all(waiting);
    },
  };
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
const newSpanId = (): string => randomBytes(8).toString('hex');

/** Where an id lies between 0 and 1 by 32 of its random bits, which are in none of the marks. */
const positionOf = (messageId: string): number => Number.parseInt(messageId.slice(24, 32), 16) / 2 ** 32;

/** The trace of a message that has one of its own. */
const ownContext = (messageId: string): TraceContext => ({
  traceId: messageId.replaceAll('-', ''),
  spanId: acceptSpanOf(messageId),
  state: null,
});

/** The span of `accept`, which all processes have to know: the second half of the message's id. */
const acceptSpanOf = (messageId: string): string => messageId.slice(19, 23) + messageId.slice(24);

/** @param caller the context that the message continues; null if it has a trace of its own */
function spanOf(stage: Stage, caller: TraceContext | null, spanId = newSpanId()): SpanData {
  const { name, messageId, startMs, endMs } = stage;
  const { traceId, state } = caller ?? ownContext(messageId);
  const accept = acceptSpanOf(messageId);
  const isFirst = name === 'accept';
  return {
    name,
    traceId,
    spanId: isFirst ? accept : spanId,
    parentId: isFirst ? (caller?.spanId ?? null) : accept,
    state,
    startMs,
    endMs: Math.max(startMs, endMs),
    attributes: attributesOf(stage),
    failed: stage.failed === true,
  };
}

const attributesOf = ({ accountId, messageId, channel, connection, status, code, failed }: Stage) => ({
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
