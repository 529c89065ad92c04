import { expect, test } from 'vitest';
import { consentWordOf, wordIn } from './consent-words.ts';

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
  'İPTAL',
  'ıptal',
  'iptal',
  'ＳＴＯＰ',
  'S\u200bTOP\ufe0f',
  'Stop. Thank you',
  'please stop',
  'PLEASE, STOP! Thanks 🙏',
  'stop stop STOP',
  'Basta, grazie',
  'הסר',
  '退订',
  'ODHLÁSIT, prosím',
  '配信停止',
  '수신거부',
  'बंद करें',
  'หยุด',
  'dừng lại',
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
  'please',
  'thank you',
  'please do not stop',
  'stop start',
  'please stop by at 5',
  'When does the sale end?',
  'nonstop',
  'St op',
])('%j says nothing: a word counts as the whole message only', (text) => {
  expect(consentWordOf(text)).toBeNull();
});

test('a courtesy that is also a word stays when nothing else is left: a yes in Polish, thanks in Danish', () => {
  expect(wordIn('Tak, dziękuję')).toBe('tak');
  expect(wordIn('Stop, tak')).toBe('stop');
});

test.each([
  ['10,000 letters', 'x'.repeat(10_000)],
  ['a word and 100 marks', `stop${'!'.repeat(100)}`],
  ['20,000 courtesies and a word', `${'please '.repeat(20_000)}stop`],
])('a long text says nothing: %s', (_, text) => {
  expect(consentWordOf(text)).toBeNull();
});
