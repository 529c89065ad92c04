import { expect, test } from 'vitest';
import { flattenSecret, jsonSecret } from './kind.ts';

const SECRET = jsonSecret(
  [
    { name: 'account', description: 'The key file.', type: 'json', generated: false },
    { name: 'token', description: 'The token.', type: 'text', generated: true },
  ],
  (json) => Object(json),
);

test('the members of a key file are stored next to the other fields', () => {
  expect(flattenSecret(SECRET, { account: { user: 'a', key: 'k' }, token: 't' })).toEqual({
    user: 'a',
    key: 'k',
    token: 't',
  });
});

test('what is not an object stays, so that the validation refuses it by its name', () => {
  expect(flattenSecret(SECRET, { account: 'text', token: 't' })).toEqual({ account: 'text', token: 't' });
});

test('fields survive being stored as a text', () => {
  expect(SECRET.toFields(SECRET.toText({ user: 'a', token: 't' }))).toEqual({ user: 'a', token: 't' });
});
