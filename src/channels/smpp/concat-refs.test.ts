import { expect, test } from 'vitest';
import { createConcatRefs } from './encode.ts';

test('65536 messages to one destination have different references, and 256 have different low octets', () => {
  const nextRef = createConcatRefs();
  const refs = Array.from({ length: 0x10000 }, () => nextRef('+351912345678'));
  expect(new Set(refs).size).toBe(0x10000);
  expect(new Set(refs.slice(0, 256).map((ref) => ref & 0xff)).size).toBe(256);
});

test('destinations do not use up the references of each other', () => {
  const nextRef = createConcatRefs();
  const first = nextRef('+1');
  for (let count = 0; count < 500; count += 1) nextRef('+2');
  expect(nextRef('+1')).toBe((first + 1) & 0xffff);
});
