import { describe, expect, test } from 'vitest';
import { createProxyCheck, isPlaintext } from './admission.ts';

const LB = '10.0.0.5';
const proxies = createProxyCheck([LB, 'fd00::/8', '192.168.0.0/24']);
const noProxy = createProxyCheck([]);

const arrival = (remoteAddress: string | undefined, forwardedProto?: string | string[], encrypted = false) => ({
  remoteAddress,
  forwardedProto,
  encrypted,
});

describe('without a proxy', () => {
  test.each(['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1'])('plain HTTP from %s is let in', (address) => {
    expect(isPlaintext(arrival(address), noProxy)).toBe(false);
  });
  test.each(['10.0.0.1', '8.8.8.8', '2001:db8::1', '::ffff:10.0.0.1', undefined])('from %s it is not', (address) => {
    expect(isPlaintext(arrival(address), noProxy)).toBe(true);
  });
  test('X-Forwarded-Proto of anyone is ignored', () => {
    expect(isPlaintext(arrival('8.8.8.8', 'https'), noProxy)).toBe(true);
  });
  test('TLS from anywhere is accepted, whatever its headers say', () => {
    expect(isPlaintext(arrival('8.8.8.8', 'http', true), noProxy)).toBe(false);
  });
});

describe('behind a proxy', () => {
  test.each(['https', 'HTTPS', 'https, https', ' https ', ['https', 'https']])('%j from it is let in', (proto) => {
    expect(isPlaintext(arrival(LB, proto), proxies)).toBe(false);
  });
  test.each(['http', 'http, https', 'https, http', '', 'httpsx', 'https,', 'wss'])('%j from it is not', (proto) => {
    expect(isPlaintext(arrival(LB, proto), proxies)).toBe(true);
  });
  test('a proxy without the header counts as plaintext, unless it uses TLS to us', () => {
    expect(isPlaintext(arrival(LB), proxies)).toBe(true);
    expect(isPlaintext(arrival(LB, undefined, true), proxies)).toBe(false);
  });
  test('a proxy that accepted plain HTTP is rejected even if it uses TLS to us', () => {
    expect(isPlaintext(arrival(LB, 'http', true), proxies)).toBe(true);
  });
  test('the header of others is ignored, and loopback needs none', () => {
    expect(isPlaintext(arrival('10.0.0.6', 'https'), proxies)).toBe(true);
    expect(isPlaintext(arrival('127.0.0.1'), proxies)).toBe(false);
  });
  test('a proxy on loopback must send https like any other', () => {
    const local = createProxyCheck(['127.0.0.1']);
    expect(isPlaintext(arrival('127.0.0.1', 'http'), local)).toBe(true);
    expect(isPlaintext(arrival('127.0.0.1'), local)).toBe(true);
    expect(isPlaintext(arrival('127.0.0.1', 'https'), local)).toBe(false);
  });
});

test.each([
  [LB, true],
  [`::ffff:${LB}`, true],
  ['10.0.0.50', false],
  ['192.168.0.200', true],
  ['192.168.1.1', false],
  ['fd12::1', true],
  ['fe80::1', false],
  ['unknown', false],
  [undefined, false],
])('the address %s is a trusted proxy: %s', (address, trusted) => {
  expect(proxies(address)).toBe(trusted);
});
