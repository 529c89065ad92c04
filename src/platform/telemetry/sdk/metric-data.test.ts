import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { toMetricData } from './metric-data.ts';

const PERIOD = { startMs: 1_000_500, endMs: 2_000_000 };

const dataOf = async (registry: Registry) => toMetricData(await registry.getMetricsAsJSON(), PERIOD);

test('counters become sums that only grow, and gauges the values that they have', async () => {
  const registry = new Registry();
  new Counter({ name: 'refused_total', help: 'Refused', labelNames: ['bound'], registers: [registry] }).inc(
    { bound: 'bodies' },
    3,
  );
  const gauge = new Gauge({ name: 'queue_messages', help: 'Queue', labelNames: ['connection'], registers: [registry] });
  gauge.set({ connection: 'acme' }, 5);
  gauge.set({ connection: 'none' }, Number.NaN);
  expect(await dataOf(registry)).toMatchObject([
    {
      descriptor: { name: 'refused_total', description: 'Refused' },
      isMonotonic: true,
      dataPoints: [{ startTime: [1000, 500_000_000], endTime: [2000, 0], attributes: { bound: 'bodies' }, value: 3 }],
    },
    { descriptor: { name: 'queue_messages' }, dataPoints: [{ attributes: { connection: 'acme' }, value: 5 }] },
  ]);
});

test('a histogram keeps its buckets, each with its own values only', async () => {
  const registry = new Registry();
  const seconds = new Histogram({
    name: 'seconds',
    help: 'Seconds',
    labelNames: ['route'],
    buckets: [0.1, 1],
    registers: [registry],
  });
  for (const value of [0.05, 0.5, 0.6, 7]) seconds.observe({ route: '/a' }, value);
  seconds.observe({ route: '/b' }, 0.01);
  const [data] = await dataOf(registry);
  expect(data?.dataPoints).toMatchObject([
    {
      attributes: { route: '/a' },
      value: { buckets: { boundaries: [0.1, 1], counts: [1, 2, 1] }, sum: 8.15, count: 4 },
    },
    {
      attributes: { route: '/b' },
      value: { buckets: { boundaries: [0.1, 1], counts: [1, 0, 0] }, sum: 0.01, count: 1 },
    },
  ]);
});

test('a metric without values is left out', async () => {
  const registry = new Registry();
  new Counter({ name: 'refused_total', help: 'Refused', labelNames: ['bound'], registers: [registry] });
  expect(await dataOf(registry)).toEqual([]);
});
