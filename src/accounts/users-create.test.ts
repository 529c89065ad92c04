import { expect, test } from 'vitest';
import { slug } from './users.ts';

test.for([
  ['Sunrise Logistics S.p.A.', 'sunrise-logistics-s-p-a'],
  ['  Café  Über 24/7 ', 'cafe-uber-24-7'],
  ['日本 🚀', 'account'],
  ['', 'account'],
  [`${'a'.repeat(39)} b`, 'a'.repeat(39)],
  ['a'.repeat(200), 'a'.repeat(40)],
])('the username made from "%s" is %s', ([name, username]) => {
  expect(slug(name ?? '')).toBe(username);
});
