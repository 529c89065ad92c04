import { expect, test } from 'vitest';
import { collectProcessMetrics, createMetrics } from './metrics.ts';

test('only counters have names that end in _total', async () => {
  const metrics = createMetrics();
  collectProcessMetrics(metrics);
  const types = [...(await metrics.scrape()).matchAll(/^# TYPE (\S+) (\S+)$/gm)];
  const misnamed = types.filter(([, name = '', type]) => name.endsWith('_total') && type !== 'counter');
  expect(misnamed.map(([, name]) => name)).toEqual([]);
  expect(types.length).toBeGreaterThan(10);
});
