import { expect, test } from 'vitest';
import { parseBaseUrl } from './http-client.ts';

test('a URL is split into its origin and a path prefix', () => {
  expect(parseBaseUrl('baseUrl', 'https://api.example/')).toEqual({ origin: 'https://api.example', prefix: '' });
  expect(parseBaseUrl('baseUrl', 'https://api.example:8443/a/b/')).toEqual({
    origin: 'https://api.example:8443',
    prefix: '/a/b',
  });
});

test.each(['http://127.0.0.1:8000', 'http://localhost:8000', 'http://[::1]:8000'])('%s needs no TLS', (url) => {
  expect(parseBaseUrl('baseUrl', url).origin).toBe(url);
});

test.each([
  ['', 'must be a URL'],
  ['ftp://api.example', 'must be a URL'],
  ['http://api.example', 'must begin with https://'],
  ['http://127.0.0.1.evil.example', 'must begin with https://'],
  ['https://user:secret@api.example', 'must be a host and a path only'],
  ['https://api.example/?a=1', 'must be a host and a path only'],
])('"%s" is refused, naming the field', (url, why) => {
  expect(() => parseBaseUrl('tokenUri', url)).toThrow(`tokenUri: ${why}`);
});
