import { expect, test } from 'vitest';
import { calledAnswers, fillCanned } from './answer-form.tsx';

const ANSWERS = [
  { id: 1, shortcut: 'hours', text: 'From 9 to 18' },
  { id: 2, shortcut: 'hello', text: 'Hello {{firstName}}' },
  { id: 3, shortcut: 'track', text: 'Where is it? In 3 hours' },
];
const shortcuts = (text: string): string[] => calledAnswers(text, ANSWERS).map(({ shortcut }) => shortcut);

test('a slash calls all answers, a beginning those that have it, and then those whose text has it', () => {
  expect(shortcuts('/')).toEqual(['hours', 'hello', 'track']);
  expect(shortcuts('/h')).toEqual(['hours', 'hello', 'track']);
  expect(shortcuts('/HOU')).toEqual(['hours', 'track']);
  expect(shortcuts('/x')).toEqual([]);
});

test('a slash within a text calls nothing', () => {
  for (const text of ['', 'a /h', '1/2', '/hello there', '/h\n']) expect(shortcuts(text)).toEqual([]);
});

test('what is known of the contact is filled in, and the rest stays visible', () => {
  const values = { firstName: 'Ada', lastName: undefined, fullName: 'Ada Verdi', agent: 'bob' };
  expect(fillCanned('{{firstName}} {{ lastName }} {{fullName}} {{agent}} {{city}}', values)).toBe(
    'Ada {{ lastName }} Ada Verdi bob {{city}}',
  );
});
