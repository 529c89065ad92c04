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
export type CallerContext = TraceContext & { readonly sampled: boolean };

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
