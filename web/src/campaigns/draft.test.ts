import { expect, test } from 'vitest';
import { contentOf, newDraft, toBody, toReview } from './draft.ts';

test('the preview is asked about the traffic type of modes with RCS, as it will be saved', () => {
  const draft = { ...newDraft(['RCS', 'SMS']), rcsTrafficType: 'PROMOTION' as const };
  for (const [sendingMode, rcsTrafficType] of [
    ['RCS_SMS', 'PROMOTION'],
    ['SMS', null],
  ] as const) {
    expect(contentOf({ ...draft, sendingMode })).toMatchObject({ rcsTrafficType });
    expect(toBody({ ...draft, sendingMode }, false)).toMatchObject({ rcsTrafficType });
  }
});

test('a review is asked about purpose, cap and time as they will be saved, but not about a time that has passed', () => {
  const draft = { ...newDraft(['SMS']), purpose: 'marketing', weeklyCap: 2, when: 'later', zone: 'UTC' } as const;
  const reviewAt = (wallTime: string) => toReview({ ...draft, wallTime }, new Date('2027-01-31T10:00:00Z'));
  const { purpose, weeklyCap, scheduledDate } = toBody({ ...draft, wallTime: '2027-02-01T09:00' }, false);
  expect(reviewAt('2027-02-01T09:00')).toMatchObject({ purpose, weeklyCap, scheduledDate });
  expect(reviewAt('2027-01-31T09:00')).toMatchObject({ purpose: 'marketing', scheduledDate: null });
});

test('the longest wait for a carrier is left out where the default holds, and where there is one channel', () => {
  const draft = newDraft(['RCS', 'SMS']);
  const fallbackOf = (sendingMode: 'RCS_SMS' | 'RCS', maxWait: number | null) =>
    toBody({ ...draft, sendingMode, maxWait }, false).fallback;
  expect(fallbackOf('RCS_SMS', 7200)).toEqual({ after: { RCS: 300 }, maxWait: 7200 });
  expect(fallbackOf('RCS_SMS', null)).toEqual({ after: { RCS: 300 } });
  expect(fallbackOf('RCS', 7200)).toBeNull();
});
