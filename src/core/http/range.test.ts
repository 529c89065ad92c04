import { expect, test } from 'vitest';
import { readRange } from './files.ts';

const CASES: [header: string | undefined, sizeBytes: number, expected: ReturnType<typeof readRange>][] = [
  [undefined, 10, 'whole'],
  ['bytes=0-0', 10, { start: 0, end: 0 }],
  ['bytes=0-9', 10, { start: 0, end: 9 }],
  ['bytes=9-', 10, { start: 9, end: 9 }],
  ['bytes=3-99', 10, { start: 3, end: 9 }],
  ['bytes=-4', 10, { start: 6, end: 9 }],
  ['bytes=-99', 10, { start: 0, end: 9 }],
  ['bytes=10-', 10, 'beyond'],
  ['bytes=99-100', 10, 'beyond'],
  ['bytes=-0', 10, 'beyond'],
  ['bytes=0-', 0, 'beyond'],
  ['bytes=-1', 0, 'beyond'],
  ['bytes=5-4', 10, 'whole'],
  ['bytes=-', 10, 'whole'],
  ['bytes=0-1,3-4', 10, 'whole'],
  ['lines=0-1', 10, 'whole'],
  ['bytes=0x1-2', 10, 'whole'],
];
test.each(CASES)('%s of %i bytes', (header, sizeBytes, expected) => {
  expect(readRange(header, sizeBytes)).toEqual(expected);
});
