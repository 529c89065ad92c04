import { expect, test } from 'vitest';
import { expectLinear } from '../../test/support/linear.ts';
import { trimCharacter, trimCharacterEnd } from './schema.ts';

test('only the ends of a text lose the character', () => {
  expect(trimCharacterEnd('//a//b//', '/')).toBe('//a//b');
  expect(trimCharacter('//a//b//', '/')).toBe('a//b');
  expect([trimCharacter('a', '/'), trimCharacter('', '/'), trimCharacter('///', '/')]).toEqual(['a', '', '']);
});

test('long runs take time in proportion to their length', async () => {
  const hostile = (size: number) => `a${'/'.repeat(size)}a`;
  await expectLinear(hostile, (text) => trimCharacter(text, '/'));
});
