import { expect, test } from 'vitest';
import { loadConfig } from '../core/config.ts';
import { loadSecretKey } from '../core/secrets.ts';
import { openTokens, sealTokens } from './profiles.ts';

test('tokens can be decrypted for their account and network only', async () => {
  const key = await loadSecretKey(loadConfig({ SECRET_KEY: '5e'.repeat(32) }));
  const place = { accountId: 1, platform: 'google' } as const;
  const tokens = { access: 'an access token', refresh: null, linked: { page: 'of a page' } };
  const sealed = sealTokens(key, place, tokens);
  expect(sealed.toString('latin1')).not.toContain('token');
  expect(openTokens(key, place, sealed)).toEqual(tokens);
  expect(() => openTokens(key, { ...place, accountId: 99 }, sealed)).toThrow();
  expect(() => openTokens(key, { ...place, platform: 'tiktok' }, sealed)).toThrow();
});
