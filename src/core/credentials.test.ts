import { expect, test } from 'vitest';
import { readCredentials } from './secrets.ts';

const read = (headers: Record<string, string | string[] | undefined>, protocol = 'https') =>
  readCredentials({ headers, protocol });

const basic = (pair: string) => `Basic ${Buffer.from(pair, 'utf8').toString('base64')}`;
const NONE = { kind: 'none' };

test('the key header is not changed', () => {
  expect(read({ 'x-api-key': 'pg_live_x' })).toEqual({ kind: 'key', value: 'pg_live_x' });
});

test('of both credentials the key counts, even a wrong one; an empty key header is ignored', () => {
  const authorization = basic('ada:secret');
  expect(read({ 'x-api-key': 'wrong', authorization })).toEqual({ kind: 'key', value: 'wrong' });
  expect(read({ 'x-api-key': '', authorization })).toMatchObject({ kind: 'basic', username: 'ada' });
});

test('Basic is UTF-8, the password may contain colons, the scheme may have any case', () => {
  const expected = { kind: 'basic', username: 'ädä', password: 'p:ä:' };
  expect(read({ authorization: basic('ädä:p:ä:') })).toEqual(expected);
  expect(read({ authorization: basic('ädä:p:ä:').replace('Basic ', 'bASIC  ') })).toEqual(expected);
  expect(read({ authorization: basic('ada:') })).toEqual({ kind: 'basic', username: 'ada', password: '' });
});

test('other schemes and malformed values read as none', () => {
  const wrong = [undefined, '', 'Basic', 'Basic ', 'Basic ???', 'Bearer abc', basic('no-colon'), basic(':nameless')];
  for (const authorization of wrong) expect(read({ authorization }), authorization).toEqual(NONE);
  expect(read({ authorization: `${basic('ada:secret')}, ${basic('eve:x')}` })).toEqual(NONE);
  expect(read({ 'x-api-key': ['a', 'b'] })).toEqual(NONE);
});

test('the cookie of a session counts alone, the protected one over HTTPS and the plain one without', () => {
  const session = (token: string) => ({ kind: 'session', token });
  const cookie = 'a=b; heliograph=plain; __Host-heliograph=protected; heliograph=later';
  expect(read({ cookie })).toEqual(session('protected'));
  expect(read({ cookie }, 'HTTPS')).toEqual(session('protected'));
  expect(read({ cookie }, 'http')).toEqual(session('plain'));
  expect(read({ cookie, 'x-api-key': '' })).toEqual(session('protected'));
  expect(read({ cookie: 'heliograph=plain' })).toEqual(NONE);
  expect(read({ cookie: '__Host-heliograph=' })).toEqual(NONE);
  expect(read({ cookie, authorization: 'Bearer x' })).toEqual(NONE);
  expect(read({ cookie, 'x-api-key': 'pg_live_x' })).toEqual({ kind: 'key', value: 'pg_live_x' });
  expect(read({ cookie, authorization: basic('ada:secret') })).toMatchObject({ kind: 'basic' });
});
