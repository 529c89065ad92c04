import { expect, test } from 'vitest';
import { readCredentials } from './credentials.ts';

const basic = (pair: string) => `Basic ${Buffer.from(pair, 'utf8').toString('base64')}`;
const NONE = { kind: 'none' };

test('the key header is read as it is', () => {
  expect(readCredentials({ 'x-api-key': 'pg_live_x' })).toEqual({ kind: 'key', value: 'pg_live_x' });
});

test('of both credentials the key counts, even a wrong one; an empty key header counts as none', () => {
  const authorization = basic('ada:secret');
  expect(readCredentials({ 'x-api-key': 'wrong', authorization })).toEqual({ kind: 'key', value: 'wrong' });
  expect(readCredentials({ 'x-api-key': '', authorization })).toMatchObject({ kind: 'basic', username: 'ada' });
});

test('Basic is read as UTF-8, the password may hold colons, the scheme may be written in any case', () => {
  const expected = { kind: 'basic', username: 'ädä', password: 'p:ä:' };
  expect(readCredentials({ authorization: basic('ädä:p:ä:') })).toEqual(expected);
  expect(readCredentials({ authorization: basic('ädä:p:ä:').replace('Basic ', 'bASIC  ') })).toEqual(expected);
  expect(readCredentials({ authorization: basic('ada:') })).toEqual({ kind: 'basic', username: 'ada', password: '' });
});

test('other schemes and malformed values read as none', () => {
  const wrong = [undefined, '', 'Basic', 'Basic ', 'Basic ???', 'Bearer abc', basic('no-colon'), basic(':nameless')];
  for (const authorization of wrong) expect(readCredentials({ authorization }), authorization).toEqual(NONE);
  expect(readCredentials({ authorization: `${basic('ada:secret')}, ${basic('eve:x')}` })).toEqual(NONE);
  expect(readCredentials({ 'x-api-key': ['a', 'b'] })).toEqual(NONE);
});
