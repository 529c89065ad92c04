import { generateKeyPairSync } from 'node:crypto';
import { expect, test } from 'vitest';
import { createAssertions } from './client.ts';

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const PEM = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();

const headerOf = (privateKeyId: string): unknown => {
  const account = {
    clientEmail: 'a@b.example',
    privateKey: PEM,
    privateKeyId,
    tokenUri: 'https://oauth2.example/token',
  };
  const [header = ''] = createAssertions(account)().split('.');
  return JSON.parse(Buffer.from(header, 'base64url').toString());
};

test('an assertion names its key, unless the id of the key is not known', () => {
  expect(headerOf('42')).toEqual({ alg: 'RS256', typ: 'JWT', kid: '42' });
  expect(headerOf('')).toEqual({ alg: 'RS256', typ: 'JWT' });
});
