import { expect, test } from 'vitest';
import { fillPlaceholders, placeholderNames } from './values.tsx';

test('placeholders are found by their names, and those without a value stay', () => {
  expect(placeholderNames('{{b}} {{ a }} {{b}} {{}} {{ }} {{c|d}} {x}')).toEqual(['b', 'a', 'b']);
  expect(fillPlaceholders('{{ a }} {{b}} {{c}}', (name) => ({ a: '{{c}}', b: '' })[name])).toBe('{{c}} {{b}} {{c}}');
});
