import { expect, test } from 'vitest';
import { parseRcsSecrets, parseRcsSettings } from './settings.ts';

test('a service account is enough; everything else has a default', () => {
  expect(parseRcsSettings({})).toMatchObject({
    baseUrl: 'https://rcsbusinessmessaging.googleapis.com',
    defaultTtlSeconds: 1_296_000,
    batchMinimum: 500,
  });
});

test.each([
  [{ baseUrl: 'http://api.example' }, 'baseUrl: must begin with https://'],
  [{ concurrency: 0 }, 'concurrency'],
  [{ trafficType: 'ADVERTISING' }, 'trafficType'],
  [{ defaultTtlSeconds: 1_296_001 }, 'defaultTtlSeconds'],
  [{ colour: 'red' }, 'colour: unknown setting'],
])('%o is refused, naming the field', (settings, why) => {
  expect(() => parseRcsSettings(settings)).toThrow(why);
});

const OURS = { clientEmail: 'a@b.example', privateKey: 'PEM', privateKeyId: '1', clientToken: 'token-123' };

test("the secrets may have our own format or be Google's key file", () => {
  const file = { type: 'service_account', client_email: 'a@b.example', private_key: 'PEM', private_key_id: '1' };
  const secrets = { ...OURS, tokenUri: 'https://oauth2.googleapis.com/token' };
  expect(parseRcsSecrets(OURS)).toEqual(secrets);
  expect(parseRcsSecrets({ ...file, clientToken: 'token-123' })).toEqual(secrets);
});

test.each([
  [{ ...OURS, clientToken: 'short' }, 'clientToken'],
  [{ ...OURS, tokenUri: 'http://token.example' }, 'tokenUri: must begin with https://'],
  [{ client_email: 'a@b.example', clientToken: 'token-123' }, 'privateKey'],
])('%o is refused, naming the field', (secrets, why) => {
  expect(() => parseRcsSecrets(secrets)).toThrow(why);
});
