import { expect, test } from 'vitest';
import { HOUR_MS } from '../core/time.ts';
import { quietMs } from './choose.ts';

const NIGHT = { from: '21:00', to: '08:00' };
const at = (text: string): Date => new Date(text);

test('quiet hours apply in the time zone of the number’s country, until the minute when they end', () => {
  // Rome is two hours ahead of UTC in summer.
  expect(quietMs(NIGHT, 'IT', at('2027-07-01T18:59:59Z'))).toBe(0);
  expect(quietMs(NIGHT, 'IT', at('2027-07-01T19:00:00Z'))).toBe(11 * HOUR_MS);
  expect(quietMs(NIGHT, 'IT', at('2027-07-02T05:59:30.500Z'))).toBe(29_500);
  expect(quietMs(NIGHT, 'IT', at('2027-07-02T06:00:00Z'))).toBe(0);
});

test('quiet hours that do not span midnight lie between the two times', () => {
  const noon = { from: '12:00', to: '15:00' };
  expect(quietMs(noon, 'IT', at('2027-07-01T10:30:00Z'))).toBe(2.5 * HOUR_MS);
  expect(quietMs(noon, 'IT', at('2027-07-01T13:00:00Z'))).toBe(0);
});

test('a country with several zones is quiet while it is night in any of them', () => {
  // 21:00 in New York, 15:00 in Honolulu; 08:00 in Honolulu is 18:00 UTC.
  expect(quietMs(NIGHT, 'US', at('2027-07-02T01:00:00Z'))).toBe(17 * HOUR_MS);
  expect(quietMs(NIGHT, 'US', at('2027-07-02T18:30:00Z'))).toBe(0);
});

test('a night in which the clocks change ends by the new time', () => {
  // 28 March 2027: 02:00 becomes 03:00 in Rome, so 08:00 is 06:00 UTC.
  expect(quietMs(NIGHT, 'IT', at('2027-03-28T00:00:00Z'))).toBe(6 * HOUR_MS);
});

test('if the zones of a country are never all awake, the first one decides', () => {
  const most = { from: '10:00', to: '09:00' };
  const waitMs = quietMs(most, 'RU', at('2027-07-01T12:00:00Z'));
  expect(waitMs).toBeGreaterThan(0);
  expect(waitMs).toBeLessThan(24 * HOUR_MS);
});

test('nothing is quiet when it is switched off, not set, or a number belongs to no country', () => {
  const night = at('2027-07-01T23:00:00Z');
  expect(quietMs(null, 'IT', night)).toBe(0);
  expect(quietMs({ off: true }, 'IT', night)).toBe(0);
  expect(quietMs(NIGHT, '', night)).toBe(0);
});
