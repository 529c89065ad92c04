import { fc, test } from '@fast-check/vitest';
import { expect, test as plain } from 'vitest';
import { LANGUAGES } from '../api/data.ts';
import { createDateText, dayValue, momentValue } from './date-text.ts';

const instants = fc.date({ min: new Date(2001, 0, 1), max: new Date(2089, 11, 31), noInvalidDate: true });

test.prop([instants, fc.constantFrom(...LANGUAGES, 'en-GB', 'en-US', 'de-CH')])(
  'a date that a field has written is read back as the same date, in every language',
  (at, locale) => {
    const { write, read } = createDateText(locale);
    expect(read(write(dayValue(at)), false)).toBe(dayValue(at));
    expect(read(write(momentValue(at)), true)).toBe(momentValue(at));
  },
);

plain('people type numbers in the order of their language, and what is no date is refused', () => {
  const [british, american] = [createDateText('en-GB'), createDateText('en-US')];
  expect(british.read('3/12/26', false)).toBe('2026-12-03');
  expect(american.read('12/3/2026 4:05 pm', true)).toBe('2026-12-03T16:05');
  expect(createDateText('de').read('3.12.2026 16:05', true)).toBe('2026-12-03T16:05');
  expect(british.read('2026-12-03', false)).toBe('2026-12-03');
  expect(british.read(`3 Dec`, false)).toBe(`${new Date().getFullYear()}-12-03`);
  for (const none of ['', '31/2/2026', 'soon', '1/2/3/4', '1 Dec 2026 25:00'])
    expect(british.read(none, true), none).toBeNull();
});
