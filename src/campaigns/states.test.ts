import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { CAMPAIGN, MOVES } from './store.ts';

const PAGE = readFileSync(new URL('../../docs/message-states.md', import.meta.url), 'utf8');
const ROW = /^\| `(\w+)` \| ([\d, ]+) \| (yes|no|) ?\| ([\d, ]+|gone) \|/gm;

const numbers = (text: string): number[] => (text === 'gone' ? [] : text.split(', ').map(Number));

test('the statuses are those of the specification', () => {
  expect(CAMPAIGN).toEqual({ DRAFT: 0, READY: 1, SENDING: 2, COMPLETED: 3, FAILED: 4 });
});

test('docs/message-states.md shows every move of a campaign with its statuses', () => {
  const rows = [...PAGE.matchAll(ROW)].map(([, name = '', start = '', confirmed = '', end = '']) => [
    name,
    { from: numbers(start), to: numbers(end), ...(confirmed !== '' && { confirmed: confirmed === 'yes' }) },
  ]);
  expect(Object.fromEntries(rows)).toEqual(MOVES);
});

test('a campaign that has ended stays as it is', () => {
  for (const { from } of Object.values(MOVES)) {
    expect(from).not.toContain(CAMPAIGN.COMPLETED);
    expect(from).not.toContain(CAMPAIGN.FAILED);
  }
});
