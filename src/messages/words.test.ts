import { expect, test } from 'vitest';
import { consentWordOf } from './consent.ts';

test.each([
  'STOP',
  'stop',
  ' Stop! ',
  '"STOP."',
  'stop all',
  'STOP-ALL',
  'Arrêt',
  'arre\u0302t',
  'Стоп',
  'BAJA',
  'توقف',
])('%j says stop', (text) => {
  expect(consentWordOf(text)).toBe('stop');
});

test.each(['START', 'unstop', 'Старт.', 'opt in', 'Başla'])('%j says start', (text) => {
  expect(consentWordOf(text)).toBe('start');
});

test.each([
  '',
  '!',
  'stop it',
  'please stop',
  'When does the sale end?',
  'nonstop',
  'St op',
  'x'.repeat(10_000),
  `stop${'!'.repeat(100)}`,
])('%j says nothing: a word counts as the whole message only', (text) => {
  expect(consentWordOf(text)).toBeNull();
});
