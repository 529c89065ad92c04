import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DAY_MS, HOUR_MS } from '../core/time.ts';
import { absoluteTime, parseTime, receiptDate, relativeTime, utcDate } from './message.ts';

describe('an absolute time', () => {
  test('is written in UTC', () => {
    expect(absoluteTime(new Date('2026-12-31T23:59:00Z'))).toBe('261231235900000+');
    expect(absoluteTime(new Date('2027-01-02T03:04:05.678Z'))).toBe('270102030405600+');
  });

  test('comes back as it was, to the tenth of a second', () => {
    const instants = fc.date({
      min: new Date('2000-01-01T00:00:00Z'),
      max: new Date('2099-12-31T23:59:59Z'),
      noInvalidDate: true,
    });
    fc.assert(
      fc.property(instants, (instant) => {
        expect(parseTime(absoluteTime(instant))).toEqual(new Date(Math.floor(instant.getTime() / 100) * 100));
      }),
    );
  });

  test('of another zone is read as the instant that it means', () => {
    expect(parseTime('261231235900004+')).toEqual(new Date('2026-12-31T22:59:00Z'));
    expect(parseTime('261231235900022-')).toEqual(new Date('2027-01-01T05:29:00Z'));
  });
});

describe('a relative time', () => {
  test.for([
    [3 * HOUR_MS, '000000030000000R'],
    [2 * DAY_MS + 61_999, '000002000101000R'],
    [45 * DAY_MS, '000115000000000R'],
    [0, '000000000001000R'],
    [-5, '000000000001000R'],
    [4000 * DAY_MS, '001200000000000R'],
  ] as const)('%i ms is %s', ([ms, expected]) => {
    expect(relativeTime(ms)).toBe(expected);
  });

  test('comes back as it was, to the second', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 360 * 86_400 }), (seconds) => {
        expect(parseTime(relativeTime(seconds * 1000))).toEqual({ relativeMs: seconds * 1000 });
      }),
    );
  });
});

describe('an invalid time', () => {
  test.for([
    '',
    '261231235900000',
    '261231235900000*',
    '261331235900000+',
    '260230235900000+',
    '261231245900000+',
    '261231236000000+',
    '261231235960000+',
    '261231235900049+',
    '26123123590000 +',
    ' 261231235900000+',
  ])('is refused: %j', (text) => {
    expect(parseTime(text)).toBeNull();
  });

  test('is refused or read for any text, never thrown', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^\d{15}[+\-R]$/), (text) => {
        const time = parseTime(text);
        if (time instanceof Date) expect(Number.isNaN(time.getTime())).toBe(false);
      }),
      { numRuns: 1000 },
    );
  });
});

describe('dates of receipts', () => {
  test('are written to the minute and read to the second', () => {
    expect(receiptDate(new Date('2026-11-20T15:30:59Z'))).toBe('2611201530');
    expect(utcDate(26, 11, 20, 15, 30, 59)).toEqual(new Date('2026-11-20T15:30:59Z'));
    expect(utcDate(26, 2, 29, 0, 0, 0)).toBeNull();
    expect(utcDate(28, 2, 29, 0, 0, 0)).toEqual(new Date('2028-02-29T00:00:00Z'));
  });
});
