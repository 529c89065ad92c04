import { expect, test } from 'vitest';
import { openMentionAt, splitMentions } from './mentions.ts';

const USERNAMES = ['anna', 'anna@example.com', 'bruno.b'];
const mentioned = (note: string) => splitMentions(note, USERNAMES).flatMap(({ username }) => username ?? []);

test('a mention is an @ and the username of a colleague, whatever follows it', () => {
  expect(splitMentions('Ask @anna, please', USERNAMES)).toEqual([
    { text: 'Ask ' },
    { text: '@anna', username: 'anna' },
    { text: ', please' },
  ]);
  expect(mentioned('@anna@example.com (@bruno.b)\n@anna.')).toEqual(['anna@example.com', 'bruno.b', 'anna']);
});

test('an email address, a longer word and an unknown name are no mentions', () => {
  for (const note of ['', 'x@anna', '@annabel', '@carla', '@', 'anna'])
    expect([note, mentioned(note)]).toEqual([note, []]);
});

test('a mention is open from its @ to the caret', () => {
  expect(openMentionAt('Ask @an', 7)).toEqual({ from: 4, to: 7, name: 'an' });
  expect(openMentionAt('@', 1)).toEqual({ from: 0, to: 1, name: '' });
  for (const text of ['Ask', 'a@b', '@anna ']) expect([text, openMentionAt(text, text.length)]).toEqual([text, null]);
});
