import {
  type Attributes,
  type Span,
  type SpanContext,
  type SpanStatus,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { expect, test } from 'vitest';
import { newSingleId } from './ids.ts';
import { silentLog } from './log.ts';
import { createTracing, findTracer, type TraceContext, type TracingDeps } from './tracing.ts';

const CALLER: TraceContext = { traceId: 'ab'.repeat(16), spanId: 'cd'.repeat(8), state: 'vendor=1' };

type Made = {
  readonly name: string;
  readonly parent: SpanContext | undefined;
  readonly spanId: string;
  readonly startTime: unknown;
  endTime?: unknown;
  attributes?: Attributes;
  status?: SpanStatus;
};

/** A tracer that keeps the spans of the traces it samples. */
function fakeTracer(sampled: boolean): { tracer: Tracer; spans: Made[] } {
  const spans: Made[] = [];
  const startSpan: Tracer['startSpan'] = (name, options, context) => {
    const parent = context && trace.getSpanContext(context);
    const span: Made = { name, parent, spanId: `${spans.length + 1}`.padStart(16, '0'), startTime: options?.startTime };
    return {
      isRecording: () => sampled,
      spanContext: () => ({ ...parent, spanId: span.spanId }),
      setAttributes: (attributes: Attributes) => void (span.attributes = attributes),
      setStatus: (status: SpanStatus) => void (span.status = status),
      end: (endTime: unknown) => void (sampled && spans.push({ ...span, endTime })),
    } as unknown as Span;
  };
  return { tracer: { startSpan } as Tracer, spans };
}

function traced(deps: Partial<Pick<TracingDeps, 'findContexts'>> & { readonly sampled?: boolean } = {}) {
  const { tracer, spans } = fakeTracer(deps.sampled ?? true);
  const findContexts: TracingDeps['findContexts'] = async (keys) => keys.map(() => CALLER);
  return { tracing: createTracing({ tracer, findContexts, log: silentLog, ...deps }), spans };
}

const stageOf = (messageId: string) => ({ accountId: 7, messageId, startMs: 1000, endMs: 1500 });

test('without an SDK there is no tracer', () => {
  expect(findTracer()).toBeNull();
});

test('a message without a caller has its own id as the trace id, and its stages have one parent', async () => {
  const { tracing, spans } = traced();
  const id = newSingleId();
  tracing.record({ ...stageOf(id), name: 'accept', channel: 'SMS' });
  tracing.record({ ...stageOf(id), name: 'submit', connection: 'acme', failed: true, code: '0x0000000B' });
  await tracing.settled();
  const [accept, submit] = spans;
  expect(accept).toMatchObject({ name: 'accept', startTime: 1000, endTime: 1500 });
  expect(accept?.parent).toEqual({
    traceId: id.replaceAll('-', ''),
    spanId: id.replaceAll('-', '').slice(16),
    traceFlags: 1,
  });
  expect(submit).toMatchObject({ name: 'submit', parent: accept?.parent, status: { code: SpanStatusCode.ERROR } });
  expect(submit?.attributes).toEqual({
    'heliograph.account.id': 7,
    'heliograph.message.id': id,
    'heliograph.connection': 'acme',
    'error.type': '0x0000000B',
  });
});

test('a message that continues the trace of its caller is found again through the database', async () => {
  const { tracing, spans } = traced();
  const id = newSingleId('follow');
  tracing.record({ ...stageOf(id), name: 'accept' });
  const webhook = await tracing.begin('webhook', { accountId: 7, messageId: id });
  webhook?.end({ status: '200' });
  await tracing.settled();
  expect(spans.map(({ name }) => name).toSorted()).toEqual(['accept', 'webhook']);
  for (const { parent } of spans)
    expect(parent).toMatchObject({ traceId: CALLER.traceId, spanId: CALLER.spanId, isRemote: true });
  const posted = spans.find(({ name }) => name === 'webhook');
  expect(webhook?.headers).toEqual({
    traceparent: `00-${CALLER.traceId}-${posted?.spanId}-01`,
    tracestate: 'vendor=1',
  });
});

test('the messages of a caller who does not record its trace, and those that the SDK leaves out, have no headers', async () => {
  const { tracing } = traced();
  expect(tracing.follows(newSingleId('ignore'))).toBe(false);
  expect(await tracing.begin('webhook', { accountId: 7, messageId: newSingleId('ignore') })).toBeNull();
  const { tracing: off } = traced({ sampled: false });
  expect(await off.begin('webhook', { accountId: 7, messageId: newSingleId() })).toBeNull();
});

test('without the database the stages of other messages are recorded, and no message is delayed', async () => {
  const { tracing, spans } = traced({ findContexts: () => Promise.reject(new Error('no database')) });
  const own = newSingleId();
  tracing.record({ ...stageOf(newSingleId('follow')), name: 'submit' });
  tracing.record({ ...stageOf(own), name: 'submit' });
  expect(await tracing.begin('webhook', { accountId: 7, messageId: newSingleId('follow') })).toBeNull();
  await tracing.settled();
  expect(spans.map(({ attributes }) => attributes?.['heliograph.message.id'])).toEqual([own]);
});

test('a request decides about its message only if its trace context is valid', () => {
  const header = `00-${CALLER.traceId}-${CALLER.spanId}`;
  const { tracing } = traced();
  expect(tracing.callerOf({ traceparent: `${header}-01`, tracestate: 'vendor=1' })).toMatchObject({
    mark: 'follow',
    context: CALLER,
  });
  expect(tracing.callerOf({ traceparent: `${header}-00` })?.mark).toBe('ignore');
  expect(tracing.callerOf({ traceparent: 'nonsense' })).toBeUndefined();
  expect(tracing.callerOf({})).toBeUndefined();
});

test('a code that quotes a phone number is masked', async () => {
  const { tracing, spans } = traced();
  tracing.record({ ...stageOf(newSingleId()), name: 'receipt', failed: true, code: 'bad number +393331234567' });
  await tracing.settled();
  expect(JSON.stringify(spans)).not.toContain('393331234567');
});
