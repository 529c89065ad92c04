import { expect, test } from 'vitest';
import { MINUTE_MS } from '../../lib/time.ts';
import { silentLog } from '../../lib/log.ts';
import { createFaultReport } from './fault-report.ts';

test('a collector that is away is said once, again after ten minutes, and so is its return', () => {
  let nowMs = 0;
  const lines: string[] = [];
  const add = (level: string) => () => void lines.push(level);
  const report = createFaultReport(() => nowMs);
  report.to({ ...silentLog, warn: add('warn'), info: add('info') });
  const fail = () => report.onExported(new Error('connect ECONNREFUSED'));
  report.onExported(null);
  for (let i = 0; i < 50; i += 1) fail();
  expect(lines).toEqual(['warn']);
  nowMs = 10 * MINUTE_MS;
  fail();
  fail();
  expect(lines).toEqual(['warn', 'warn']);
  report.onExported(null);
  report.onExported(null);
  expect(lines).toEqual(['warn', 'warn', 'info']);
  fail();
  expect(lines.at(-1)).toBe('warn');
});
