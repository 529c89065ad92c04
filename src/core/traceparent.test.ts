import { expect, test } from 'vitest';
import { readTraceContext, traceHeaders } from './tracing.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';

test('what is written is read again, with the state of other systems', () => {
  const context = { traceId: TRACE, spanId: SPAN, state: 'congo=t61rcWkgMzE,rojo=00f067aa0ba902b7' };
  const { traceparent, tracestate } = traceHeaders(context);
  expect(readTraceContext(traceparent, tracestate)).toEqual({ ...context, sampled: true });
});

test('the last flag says whether the trace is recorded', () => {
  expect(readTraceContext(`00-${TRACE}-${SPAN}-00`, undefined)?.sampled).toBe(false);
  expect(readTraceContext(`00-${TRACE}-${SPAN}-03`, undefined)?.sampled).toBe(true);
});

test('a later version is read as far as it is known', () => {
  expect(readTraceContext(`cc-${TRACE}-${SPAN}-01-more`, undefined)).toMatchObject({ traceId: TRACE, sampled: true });
});

test.each([
  undefined,
  '',
  'nonsense',
  `ff-${TRACE}-${SPAN}-01`,
  `00-${TRACE}-${SPAN}-01-more`,
  `00-${'0'.repeat(32)}-${SPAN}-01`,
  `00-${TRACE}-${'0'.repeat(16)}-01`,
  `00-${TRACE.toUpperCase()}-${SPAN}-01`,
])('%j names no trace', (traceparent) => {
  expect(readTraceContext(traceparent, undefined)).toBeNull();
});

test('a state that is too long or not printable is left out', () => {
  for (const state of ['x'.repeat(513), 'a=\u00e9'])
    expect(readTraceContext(`00-${TRACE}-${SPAN}-01`, state)?.state).toBeNull();
});
