import Type from 'typebox';
import { expect, test } from 'vitest';
import { settingFields } from './kind.ts';

const SCHEMA = Type.Object({
  retries: Type.Integer({ description: 'Retries.', minimum: 0, maximum: 5, default: 2 }),
  url: Type.String({ description: 'URL.', maxLength: 300 }),
  token: Type.Optional(Type.String({ description: 'Token.' })),
  tls: Type.Boolean({ description: 'TLS.', default: true }),
  version: Type.Enum([51, 52], { description: 'Version.', default: 52 }),
  hosts: Type.Array(Type.String(), { description: 'Hosts.', default: ['a.example'] }),
  address: Type.Object({ ton: Type.Integer({ default: 1 }) }, { description: 'Address.', default: {} }),
});

test('settings come by group, those that are listed first in the given order', () => {
  const fields = settingFields(SCHEMA, { access: ['token'], main: ['tls', 'retries'] });
  expect(fields.map(({ name, group }) => `${group} ${name}`)).toEqual([
    'access token',
    'access url',
    'main tls',
    'main retries',
    'more version',
    'more hosts',
    'more address',
  ]);
});

test('only a setting without a default is required, and it always belongs to the access', () => {
  expect(settingFields(SCHEMA, {}).filter(({ required }) => required)).toMatchObject([
    { name: 'url', group: 'access' },
  ]);
});

test('types, limits, options and defaults are those of the schema', () => {
  const fields = settingFields(SCHEMA, {});
  expect(Object.fromEntries(fields.map(({ name, type, default: fallback }) => [name, [type, fallback]]))).toEqual({
    retries: ['number', 2],
    url: ['text', null],
    token: ['text', null],
    tls: ['boolean', true],
    version: ['choice', 52],
    hosts: ['list', ['a.example']],
    address: ['object', { ton: 1 }],
  });
  const by = (wanted: string) => fields.find(({ name }) => name === wanted);
  expect(by('retries')).toMatchObject({
    description: 'Retries.',
    minimum: 0,
    maximum: 5,
    maxLength: null,
    options: [],
  });
  expect(by('url')).toMatchObject({ minimum: null, maximum: null, maxLength: 300 });
  expect(by('version')).toMatchObject({ options: [51, 52] });
});
