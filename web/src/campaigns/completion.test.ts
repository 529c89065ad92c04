import { expect, test } from 'vitest';
import { completePlaceholder, openPlaceholderAt, placeholderOf } from './field-pane.tsx';

test('a placeholder is open from its braces to the caret, until it is closed or its default starts', () => {
  expect(openPlaceholderAt('Hello {{fi', 10)).toEqual({ from: 6, to: 10, name: 'fi' });
  expect(openPlaceholderAt('Hello {{', 8)).toEqual({ from: 6, to: 8, name: '' });
  for (const text of ['Hello', 'Hello {', 'Hello {{name}}', 'Hello {{name|y', '{{a\nb'])
    expect([text, openPlaceholderAt(text, text.length)]).toEqual([text, null]);
});

test('the chosen field replaces the typed text, and is closed only once', () => {
  const at = (text: string) => openPlaceholderAt(text, text.length) ?? { from: 0, to: 0, name: '' };
  expect(completePlaceholder('Hello {{fi', at('Hello {{fi'), 'firstName')).toEqual({
    text: 'Hello {{firstName}}',
    caret: 19,
  });
  expect(completePlaceholder('A {{fi}} b', { from: 2, to: 6, name: 'fi' }, 'email')).toEqual({
    text: 'A {{email}} b',
    caret: 11,
  });
});

test('a default follows a bar, and cannot close the placeholder early', () => {
  expect(placeholderOf('firstName', '')).toBe('{{firstName}}');
  expect(placeholderOf('firstName', ' you }} ')).toBe('{{firstName|you }}');
});
