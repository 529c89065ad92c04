import { fc, test as propertyTest } from '@fast-check/vitest';
import { expect, test } from 'vitest';
import { parseScheduledDate } from './time.ts';

const two = (value: number): string => String(value).padStart(2, '0');

/** Writes the wall clock at an offset, as a client does. */
function write(at: Date, offsetMinutes: number, shape: { t: string; colon: string; gap: string }): string {
  const wall = new Date(at.getTime() + offsetMinutes * 60_000).toISOString().slice(0, -1).replace('T', shape.t);
  const size = Math.abs(offsetMinutes);
  const sign = offsetMinutes < 0 ? '-' : '+';
  return `${wall}${shape.gap}${sign}${two(Math.floor(size / 60))}${shape.colon}${two(size % 60)}`;
}

test.each([
  ['2027-01-31 09:00:00.000+0100', '2027-01-31T08:00:00.000Z'],
  ['2027-01-31T09:00:00.000+01:00', '2027-01-31T08:00:00.000Z'],
  ['2027-01-31T09:00:00Z', '2027-01-31T09:00:00.000Z'],
  ['2027-01-31 09:00 +0000', '2027-01-31T09:00:00.000Z'],
  ['2027-01-31 00:30:00.5-0330', '2027-01-31T04:00:00.500Z'],
  ['2028-02-29 12:00:00Z', '2028-02-29T12:00:00.000Z'],
  ['2026-12-01T13:11:17.123456Z', '2026-12-01T13:11:17.123Z'],
  ['2026-12-01T13:11:17.1239999+01:00', '2026-12-01T12:11:17.123Z'],
  ['2026-12-01 13:11:17.123456789012+0000', '2026-12-01T13:11:17.123Z'],
])('%s is %s', (text, instant) => {
  expect(parseScheduledDate(text)?.toISOString()).toBe(instant);
});

test.each([
  ['2027-02-29 12:00:00Z', 'a day that the year lacks'],
  ['2027-02-30 12:00:00Z', 'a day that the month lacks'],
  ['2027-04-31 00:00:00+1400', 'such a day, whatever the offset makes of it'],
  ['2027-13-01 12:00:00Z', 'a thirteenth month'],
  ['2027-00-10 12:00:00Z', 'a month zero'],
  ['2027-01-00 12:00:00Z', 'a day zero'],
  ['2027-01-31 25:00:00Z', 'an hour past midnight'],
  ['2027-01-31 09:60:00Z', 'a sixtieth minute'],
  ['2027-01-31 09:00:00+2500', 'an offset of more than a day'],
  ['2027-01-31 09:00:00', 'no offset'],
  ['2027-01-31', 'no time'],
  ['1801468800000', 'a number'],
  ['2027-01-31 09:00:00Z\n', 'a line end'],
  ['tomorrow', 'a word'],
  ['', 'nothing'],
])('%j is refused: %s', (text) => {
  expect(parseScheduledDate(text)).toBeNull();
});

propertyTest.prop([
  fc.date({ min: new Date('0001-01-02T00:00:00Z'), max: new Date('9998-12-30T00:00:00Z'), noInvalidDate: true }),
  fc.integer({ min: -14 * 60, max: 14 * 60 }),
  fc.record({ t: fc.constantFrom(' ', 'T'), colon: fc.constantFrom('', ':'), gap: fc.constantFrom('', ' ') }),
])('an instant written at any offset and in any of the forms reads as that instant', (at, offset, shape) => {
  expect(parseScheduledDate(write(at, offset, shape))).toEqual(at);
});

propertyTest.prop([fc.string({ unit: 'binary', maxLength: 200, size: 'max' })])(
  'no text at all makes it throw',
  (text) => {
    expect(() => parseScheduledDate(text)).not.toThrow();
  },
);
