import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { needsBody, readCaller } from './directory.ts';

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');
const TOKEN = 'pQ3nW7xK9sT1vZ5bC8dF2gH4jL6mR0yA-uE_iO7kX2w';
const KEY = `pg_live_${TOKEN}`;

const read = (uri: string, headers: Record<string, string> = {}, body?: unknown, protocol = 'https') =>
  readCaller({ uri, protocol, headers, body });

test('credentials name a key or a session by its hash, and a user by name', () => {
  const basic = `Basic ${Buffer.from('grace:secret:word').toString('base64')}`;
  expect(read('/services/sms/send', { 'x-api-key': KEY })).toEqual({ kind: 'hash', id: hashOf(KEY) });
  expect(read('/services/sms/send', { authorization: basic })).toEqual({ kind: 'user', id: 'grace' });
  const session = { kind: 'hash', id: hashOf(TOKEN) };
  expect(read('/', { cookie: `__Host-heliograph=${TOKEN}` })).toEqual(session);
  expect(read('/', { cookie: `heliograph=${TOKEN}` }, undefined, 'http')).toEqual(session);
});

test('what cannot be one of ours is looked up nowhere', () => {
  const unknown = { kind: 'unknown' };
  expect(read('/')).toEqual(unknown);
  expect(read('/', { 'x-api-key': 'nonsense' })).toEqual(unknown);
  expect(read('/', { cookie: '__Host-heliograph=short' })).toEqual(unknown);
  expect(read('/', { authorization: `Basic ${Buffer.from('no\0body:x').toString('base64')}` })).toEqual(unknown);
  expect(read('/api/partner-gateway/v1/session', {}, { username: 'n'.repeat(301) })).toEqual(unknown);
  expect(read('/api/partner-gateway/v1/session', {}, ['username'])).toEqual(unknown);
});

test('a signed link names its account, whatever else the browser sends', () => {
  const link = '/api/files/abc?account=3298534883345&version=1&expires=1&key=ab&signature=x';
  expect(read(link, { cookie: `__Host-heliograph=${TOKEN}` })).toEqual({ kind: 'account', accountId: 3298534883345 });
  expect(read('/api/files/abc?account=7&version=1', { 'x-api-key': KEY })).toMatchObject({ kind: 'hash' });
  expect(read('/api/files/abc?account=-7&signature=x')).toEqual({ kind: 'unknown' });
});

test('a page behind the link of a message names its account, whatever else the browser sends', () => {
  const page = `/c/${(3298534883345).toString(36)}.${'A'.repeat(22)}`;
  expect(read(`${page}?answer=no`, { cookie: `__Host-heliograph=${TOKEN}` })).toEqual({
    kind: 'account',
    accountId: 3298534883345,
  });
  expect(read(`/c/${'A'.repeat(22)}`)).toEqual({ kind: 'unknown' });
});

test('a browser that another site sends back names its state', () => {
  expect(read('/oauth/single-sign-on/callback/token?code=c&state=abc')).toEqual({ kind: 'hash', id: hashOf('abc') });
  expect(read('/oauth/facebook/callback?state=abc&code=c')).toEqual({ kind: 'hash', id: hashOf('abc') });
});

test('bodies of open routes name a user, a company or a token, and those of no other route are asked for', () => {
  const api = '/api/partner-gateway/v1';
  const stale = { cookie: `__Host-heliograph=${TOKEN}` };
  expect(read(`${api}/session`, stale, { username: 'grace', password: 'x' })).toEqual({ kind: 'user', id: 'grace' });
  expect(read(`${api}/session/second-factor`, {}, { pendingToken: TOKEN, code: '1' })).toEqual({
    kind: 'hash',
    id: hashOf(TOKEN),
  });
  expect(read(`${api}/invitations/open`, {}, { token: TOKEN })).toEqual({ kind: 'hash', id: hashOf(TOKEN) });
  const company = (text: string) => read(`${api}/session/single-sign-on`, {}, { company: text });
  expect(company(' Acme ')).toEqual({ kind: 'company', id: 'acme' });
  expect(company('Grace@Example.com')).toEqual({ kind: 'company', id: 'example.com' });
  expect(needsBody(`${api}/session`)).toBe(true);
  expect(needsBody(`${api}/session/single-sign-on?x=1`)).toBe(true);
  expect(needsBody(`${api}/users`)).toBe(false);
  expect(needsBody(`${api}/sessions`)).toBe(false);
});
