import { expect, test } from 'vitest';
import { newId, newSingleId, traceMarkOf } from '../lib/ids.ts';
import { silentLog } from '../lib/log.ts';
import { createTracing, type SpanData, type TracingDeps } from './tracing.ts';
import type { TraceContext } from './traceparent.ts';

const CALLER: TraceContext = { traceId: 'ab'.repeat(16), spanId: 'cd'.repeat(8), state: 'vendor=1' };

function traced(deps: Partial<TracingDeps> = {}) {
  const spans: SpanData[] = [];
  const tracing = createTracing({
    sampling: { followsCaller: true, share: 1 },
    findContexts: async (keys) => keys.map(() => CALLER),
    emit: (span) => void spans.push(span),
    log: silentLog,
    ...deps,
  });
  return { tracing, spans };
}

const stageOf = (messageId: string) => ({ accountId: 7, messageId, startMs: 1000, endMs: 1500 });

test('the share of traced messages is that of the setting, and each message has one answer in all processes', () => {
  const { tracing } = traced({ sampling: { followsCaller: true, share: 0.1 } });
  const { tracing: other } = traced({ sampling: { followsCaller: false, share: 0.1 } });
  const ids = [
    ...Array.from({ length: 10_000 }, () => newSingleId()),
    ...Array.from({ length: 10_000 }, newId).filter((id) => traceMarkOf(id) === null),
  ];
  const followed = ids.filter(tracing.follows);
  // Ten standard deviations.
  expect(Math.abs(followed.length - 2000)).toBeLessThan(430);
  expect(ids.filter(other.follows)).toEqual(followed);
});

test.each([0, 1])('with the share %d all messages are treated alike', (share) => {
  const { tracing } = traced({ sampling: { followsCaller: true, share } });
  expect(new Set(Array.from({ length: 1000 }, () => tracing.follows(newSingleId())))).toEqual(new Set([share === 1]));
});

test('what the caller has decided goes before the share', () => {
  for (const share of [0, 1]) {
    const { tracing } = traced({ sampling: { followsCaller: true, share } });
    expect(tracing.follows(newSingleId('follow'))).toBe(true);
    expect(tracing.follows(newSingleId('ignore'))).toBe(false);
  }
});

test('a message without a caller has its own id as the trace id, and its stages are below the first', async () => {
  const { tracing, spans } = traced();
  const id = newSingleId();
  tracing.record({ ...stageOf(id), name: 'accept', channel: 'SMS' });
  tracing.record({ ...stageOf(id), name: 'submit', connection: 'acme', failed: true, code: '0x0000000B' });
  await tracing.settled();
  const [accept, submit] = spans;
  expect(accept).toMatchObject({ name: 'accept', traceId: id.replaceAll('-', ''), parentId: null, failed: false });
  expect(submit).toMatchObject({ name: 'submit', traceId: accept?.traceId, parentId: accept?.spanId, failed: true });
  expect(submit?.attributes).toEqual({
    'heliograph.account.id': 7,
    'heliograph.message.id': id,
    'heliograph.connection': 'acme',
    'error.type': '0x0000000B',
  });
  for (const { spanId } of spans) expect(spanId).toMatch(/^[0-9a-f]{16}$/);
});

test('a message that continues the trace of its caller is found again through the database', async () => {
  const { tracing, spans } = traced();
  const id = newSingleId('follow');
  tracing.record({ ...stageOf(id), name: 'accept' });
  const webhook = await tracing.begin('webhook', { accountId: 7, messageId: id });
  webhook?.end({ status: '200' });
  await tracing.settled();
  const [accept, posted] = spans;
  expect(accept).toMatchObject({ traceId: CALLER.traceId, parentId: CALLER.spanId, state: 'vendor=1' });
  expect(posted).toMatchObject({ traceId: CALLER.traceId, parentId: accept?.spanId });
  expect(webhook?.headers).toEqual({
    traceparent: `00-${CALLER.traceId}-${posted?.spanId}-01`,
    tracestate: 'vendor=1',
  });
});

test('a mark that is in an id by chance begins no trace', async () => {
  const findContexts: TracingDeps['findContexts'] = async (keys) => keys.map(() => null);
  const { tracing, spans } = traced({ findContexts, sampling: { followsCaller: true, share: 0 } });
  const id = newSingleId('follow');
  tracing.record({ ...stageOf(id), name: 'submit' });
  expect(await tracing.begin('webhook', { accountId: 7, messageId: id })).toBeNull();
  await tracing.settled();
  expect(spans).toEqual([]);
});

test('without the database the stages of other messages are recorded, and nobody is held up', async () => {
  const { tracing, spans } = traced({ findContexts: () => Promise.reject(new Error('no database')) });
  const own = newSingleId();
  tracing.record({ ...stageOf(newSingleId('follow')), name: 'submit' });
  tracing.record({ ...stageOf(own), name: 'submit' });
  expect(await tracing.begin('webhook', { accountId: 7, messageId: newSingleId('follow') })).toBeNull();
  await tracing.settled();
  expect(spans.map(({ attributes }) => attributes['heliograph.message.id'])).toEqual([own]);
});

test('a request decides about its message only if its trace context is valid and the setting asks for it', () => {
  const header = `00-${CALLER.traceId}-${CALLER.spanId}`;
  const { tracing } = traced();
  expect(tracing.callerOf({ traceparent: `${header}-01`, tracestate: 'vendor=1' })).toMatchObject({
    mark: 'follow',
    context: CALLER,
  });
  expect(tracing.callerOf({ traceparent: `${header}-00` })?.mark).toBe('ignore');
  expect(tracing.callerOf({ traceparent: 'nonsense' })).toBeUndefined();
  expect(tracing.callerOf({})).toBeUndefined();
  const { tracing: own } = traced({ sampling: { followsCaller: false, share: 1 } });
  expect(own.callerOf({ traceparent: `${header}-01` })).toBeUndefined();
});

test('a code that quotes a phone number is masked', async () => {
  const { tracing, spans } = traced();
  tracing.record({ ...stageOf(newSingleId()), name: 'receipt', failed: true, code: 'bad number +393331234567' });
  await tracing.settled();
  expect(JSON.stringify(spans)).not.toContain('393331234567');
});
