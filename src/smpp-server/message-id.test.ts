import { expect, test } from 'vitest';
import { ID_FORMATS } from '../accounts/smpp-credentials.ts';
import { newId } from '../core/ids.ts';
import { readMessageId, writeMessageId } from './stored.ts';

test.each(ID_FORMATS)('an id written as %s fits the protocol and is read back', (format) => {
  for (let n = 0; n < 100; n++) {
    const id = newId();
    const written = writeMessageId(id, format);
    expect(written.length).toBeLessThanOrEqual(64);
    expect(readMessageId(written)).toBe(id);
    expect(readMessageId(written.toUpperCase())).toBe(id);
  }
});

test('an id in hexadecimal and the same in decimal are one number', () => {
  const id = '01936f00-0000-7000-8000-0000000000ff';
  expect(writeMessageId(id, 'hex')).toBe(id.replaceAll('-', ''));
  expect(BigInt(`0x${writeMessageId(id, 'hex')}`).toString()).toBe(writeMessageId(id, 'decimal'));
});

test.each(['', 'x', '1'.repeat(65), '9'.repeat(39), "1'; --"])('%j is no id', (text) => {
  expect(readMessageId(text)).toBeNull();
});
