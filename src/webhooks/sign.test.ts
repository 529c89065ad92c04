import { randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { createSecretKey } from '../core/secrets.ts';
import { openSecrets, sealSecret } from './endpoints.ts';
import { makeSecret, signedHeaders } from './send.ts';

const body = '{"text":"grüße €"}';
const now = () => Math.floor(Date.now() / 1000);
const sign = (secrets: string[], overrides = {}) =>
  signedHeaders({ id: 'event-1', timestamp: now(), body, secrets, ...overrides });

test('an independent library of Standard Webhooks accepts the signature', () => {
  const secret = makeSecret();
  expect(new Webhook(secret).verify(body, sign([secret]))).toEqual({ text: 'grüße €' });
});

test('it refuses the signature for another body, id, time or secret', () => {
  const secret = makeSecret();
  const verify =
    (text: string, headers: Record<string, string>, by = secret) =>
    () =>
      new Webhook(by).verify(text, headers);
  expect(verify(`${body} `, sign([secret]))).toThrow();
  expect(verify(body, { ...sign([secret]), 'webhook-id': 'event-2' })).toThrow();
  expect(verify(body, { ...sign([secret]), 'webhook-timestamp': String(now() - 1) })).toThrow();
  expect(verify(body, sign([secret]), makeSecret())).toThrow();
});

test('while a rotation overlaps, the holder of either secret can verify', () => {
  const secrets = [makeSecret(), makeSecret()];
  for (const secret of secrets) expect(new Webhook(secret).verify(body, sign(secrets))).toEqual({ text: 'grüße €' });
});

test('a callback is JSON and says who sends it', () => {
  expect(sign([makeSecret()])).toMatchObject({
    'content-type': 'application/json',
    'user-agent': expect.stringMatching(/^Heliograph\/\d+\.\d+\.\d+$/),
  });
});

test('secrets are whsec_ and 32 bytes, each another', () => {
  const secrets = Array.from({ length: 100 }, makeSecret);
  expect(new Set(secrets).size).toBe(100);
  for (const secret of secrets) {
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(Buffer.from(secret.slice(6), 'base64')).toHaveLength(32);
  }
});

test('a sealed secret opens for its account only, the previous one until its time is over', () => {
  const key = createSecretKey(randomBytes(32));
  const until = new Date('2027-01-02T00:00:00Z');
  const endpoint = {
    accountId: 7,
    secret: sealSecret(key, 7, 'whsec_new'),
    previousSecret: sealSecret(key, 7, 'whsec_old'),
    previousSecretUntil: until,
  };
  expect(endpoint.secret.includes('new')).toBe(false);
  expect(openSecrets(key, endpoint, new Date('2027-01-01T23:59:59Z'))).toEqual(['whsec_new', 'whsec_old']);
  expect(openSecrets(key, endpoint, until)).toEqual(['whsec_new']);
  expect(() => openSecrets(key, { ...endpoint, accountId: 8 }, until)).toThrow();
});
