import { expect, test } from 'vitest';
import { adviceOf } from './advice.ts';

test('a code that says more than the status decides, but a number means something on WhatsApp only', () => {
  expect(adviceOf({ channel: 'WHATSAPP', status: 'UNDELIVERABLE', code: '131026' })).toBe('noWhatsapp');
  expect(adviceOf({ channel: 'SMS', status: 'UNDELIVERABLE', code: '131026' })).toBe('undeliverable');
  expect(adviceOf({ channel: 'SMS', status: 'EXPIRED', code: 'VALIDITY_ENDED' })).toBe('tooLate');
  expect(adviceOf({ channel: 'RCS', status: 'UNSUPPORTED', code: '' })).toBe('unsupported');
  expect(adviceOf({ channel: 'SMS', status: 'ERROR', code: '255' })).toBe('other');
});
