import { expect, test } from 'vitest';
import { createSecretKey } from './secrets.ts';
import { createLinkSigner, type LinkTarget } from './storage.ts';

const KEY = createSecretKey(Buffer.alloc(32, 7));
const { sign, verify } = createLinkSigner(KEY);
const TARGET: LinkTarget = { kind: 'media', accountId: 12, id: 'AbC-_9', version: 3 };
const EXPIRES = new Date('2030-01-01T00:00:00Z');
const BEFORE = new Date('2029-12-31T23:59:59.999Z');
const fieldsOf = (query: string): Record<string, string> => Object.fromEntries(new URLSearchParams(query));
const QUERY = fieldsOf(sign(TARGET, EXPIRES));
const REQUEST = { kind: TARGET.kind, id: TARGET.id, method: 'GET', query: QUERY };
const FORGED = { ok: false, reason: 'forged' };

test('a signed link is verified with its account and version, for GET and HEAD', () => {
  for (const method of ['GET', 'HEAD'])
    expect(verify({ ...REQUEST, method }, BEFORE)).toEqual({ ok: true, accountId: 12, version: 3 });
});

test('a link expires at its second', () => {
  expect(verify(REQUEST, new Date(EXPIRES.getTime() - 1))).toMatchObject({ ok: true });
  expect(verify(REQUEST, EXPIRES)).toEqual({ ok: false, reason: 'expired' });
  expect(verify(REQUEST, new Date(EXPIRES.getTime() + 1000))).toEqual({ ok: false, reason: 'expired' });
});

test('an expiry within a second does not lengthen a link', () => {
  const query = fieldsOf(sign(TARGET, new Date(EXPIRES.getTime() + 999)));
  expect(verify({ ...REQUEST, query }, EXPIRES)).toEqual({ ok: false, reason: 'expired' });
});

test('a link is valid only for its own target', () => {
  const others = [{ kind: 'thumbnail' as const }, { kind: 'export' as const }, { id: 'AbC-_8' }, { id: '' }];
  for (const other of [...others, { method: 'DELETE' }, { method: 'POST' }])
    expect(verify({ ...REQUEST, ...other }, BEFORE)).toEqual(FORGED);
});

test('no field of a link can be changed, left out or given twice', () => {
  for (const [name, value] of Object.entries(QUERY)) {
    const { [name]: _, ...without } = QUERY;
    const longer = { ...QUERY, [name]: `${value}0` };
    const shorter = { ...QUERY, [name]: value.slice(0, -1) };
    const spaced = { ...QUERY, [name]: ` ${value}` };
    const twice = { ...QUERY, [name]: [value, value] };
    for (const query of [without, longer, shorter, spaced, twice])
      expect(verify({ ...REQUEST, query }, BEFORE)).toEqual(FORGED);
  }
});

test('another base64 form of the same bytes is not a valid signature', () => {
  const last = QUERY['signature']?.at(-1) ?? '';
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const others = [...alphabet].filter((letter) => letter !== last);
  for (const letter of others) {
    const signature = `${QUERY['signature']?.slice(0, -1)}${letter}`;
    expect(verify({ ...REQUEST, query: { ...QUERY, signature } }, BEFORE)).toEqual(FORGED);
  }
});

test('other notations of the same numbers are not valid', () => {
  for (const query of [
    { ...QUERY, account: '012' },
    { ...QUERY, account: '1.2e1' },
    { ...QUERY, version: '+3' },
    { ...QUERY, expires: `${QUERY['expires']}.0` },
  ])
    expect(verify({ ...REQUEST, query }, BEFORE)).toEqual(FORGED);
});

test('the boundaries between parts are signed: the same characters divided differently are not valid', () => {
  const one = fieldsOf(sign({ ...TARGET, accountId: 1, version: 23 }, EXPIRES));
  expect(verify({ ...REQUEST, query: { ...one, account: '12', version: '3' } }, BEFORE)).toEqual(FORGED);
});

test('a link signed with another secret key is not valid', () => {
  const other = createLinkSigner(createSecretKey(Buffer.alloc(32, 8)));
  expect(verify({ ...REQUEST, query: fieldsOf(other.sign(TARGET, EXPIRES)) }, BEFORE)).toEqual(FORGED);
});

test.each([undefined, null, 'text', 7, [], {}])('a query of %j is forged', (query) => {
  expect(verify({ ...REQUEST, query }, BEFORE)).toEqual(FORGED);
});
