import { expect, test } from 'vitest';
import { errorsOf, type Field, filledOf, initialOf } from './connections-fields.ts';

const REQUEST: Field = { name: 'request', type: 'object', options: [], isRequired: false, description: '' };

test('a setting that is an object is shown as JSON, and is sent only if it was changed', () => {
  const request = { path: '/sms', body: { to: '{{to}}' } };
  const before = initialOf([REQUEST], { request });
  expect(JSON.parse(String(before['request']))).toEqual(request);
  expect(filledOf([REQUEST], before, before)).toEqual({});
  expect(filledOf([REQUEST], { request: '{"path":"/"}' }, before)).toEqual({ request: { path: '/' } });
  expect(filledOf([REQUEST], { request: ' ' }, before)).toEqual({ request: null });
});

test('an object with its default value leaves its field empty, in whatever order its members are', () => {
  const address: Field = { ...REQUEST, name: 'address', fallback: { ton: 5, npi: 0 } };
  expect(initialOf([address], { address: { npi: 0, ton: 5 } })).toEqual({ address: '' });
});

test('what is not JSON is sent as it is, so that the server names the field', () => {
  expect(filledOf([REQUEST], { request: '{"path":' })).toEqual({ request: '{"path":' });
});

test('errors of the members of an object are shown at its field, with their path', () => {
  const errors = { 'settings.request.path': 'is required', 'settings.requests': 'no', 'settings.request': 'wrong' };
  expect(errorsOf(errors, 'settings.request')).toBe('path: is required; wrong');
  expect(errorsOf(errors, 'settings.answer')).toBe('');
});
