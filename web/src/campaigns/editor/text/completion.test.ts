import { expect, test } from 'vitest';
import { applied, placeholderOf, typedAt } from './completion.ts';

test('a placeholder is open from its braces to the caret, until it is closed or its default begins', () => {
  expect(typedAt('Hello {{fi', 10)).toEqual({ from: 6, to: 10, name: 'fi' });
  expect(typedAt('Hello {{', 8)).toEqual({ from: 6, to: 8, name: '' });
  for (const text of ['Hello', 'Hello {', 'Hello {{name}}', 'Hello {{name|y', '{{a\nb'])
    expect([text, typedAt(text, text.length)]).toEqual([text, null]);
});

test('what is chosen takes the place of what was typed, and is closed once', () => {
  const at = (text: string) => typedAt(text, text.length) ?? { from: 0, to: 0, name: '' };
  expect(applied('Hello {{fi', at('Hello {{fi'), 'firstName')).toEqual({ text: 'Hello {{firstName}}', caret: 19 });
  expect(applied('A {{fi}} b', { from: 2, to: 6, name: 'fi' }, 'email')).toEqual({ text: 'A {{email}} b', caret: 11 });
});

test('a default stands behind a bar, and cannot close the placeholder early', () => {
  expect(placeholderOf('firstName', '')).toBe('{{firstName}}');
  expect(placeholderOf('firstName', ' you }} ')).toBe('{{firstName|you }}');
});
