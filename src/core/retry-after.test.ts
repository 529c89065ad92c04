import { expect, test } from 'vitest';
import { parseRetryAfter } from './outbound.ts';
import { DAY_MS } from './time.ts';

const NOW = Date.parse('2026-11-20T12:00:00Z');

test.each([
  ['30', 30_000],
  [' 0 ', 0],
  ['Fri, 20 Nov 2026 12:00:10 GMT', 10_000],
  ['Friday, 20-Nov-26 12:00:10 GMT', 10_000],
  ['Fri, 20 Nov 2026 11:00:00 GMT', 0],
  ['86401', DAY_MS],
  ['999999999999', DAY_MS],
  ['Fri, 20 Nov 2099 12:00:00 GMT', DAY_MS],
])('%o asks for %d ms', (header, ms) => expect(parseRetryAfter(header, NOW)).toBe(ms));

test.each([undefined, '', '-5', '1.5', 'soon', '2026-11-20T12:00:10Z', '5 apples', 'GMT', '1e3'])(
  '%o asks for nothing',
  (header) => expect(parseRetryAfter(header, NOW)).toBeNull(),
);
