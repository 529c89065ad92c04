import { expect, test } from 'vitest';
import { invalidFields } from './errors.ts';

test('a message says once what holds for several fields, and the details name each of them', () => {
  const one = 'exactly one of text and mediaId is required';
  const details = [
    { field: 'text', message: one },
    { field: 'channel', message: 'is required' },
    { field: 'mediaId', message: one },
  ];
  const error = invalidFields(details);
  expect([error.message, error.details]).toEqual([`text, mediaId: ${one}; channel: is required`, details]);
});
