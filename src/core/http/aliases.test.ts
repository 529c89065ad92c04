import { expect, test } from 'vitest';
import { canonicalUrl } from './server.ts';

const PG = '/api/partner-gateway/v1';

test.each([
  ['/partner-gateway/v1/campaigns?page=1', `${PG}/campaigns?page=1`],
  ['/api/v1/partner-gateway/contacts', `${PG}/contacts`],
  ['/api/services/sms/send', '/services/sms/send'],
  [`${PG}/conversations/7/read`, `${PG}/inbox/conversations/7/read`],
  [`${PG}/conversations?page=1`, `${PG}/inbox/conversations?page=1`],
  [`${PG}/conversations`, `${PG}/inbox/conversations`],
  ['/partner-gateway/v1/conversations/7', `${PG}/inbox/conversations/7`],
  ['/api/v1/partner-gateway/conversations', `${PG}/inbox/conversations`],
])('the alias %s is %s', (alias, canonical) => {
  expect(canonicalUrl(alias)).toBe(canonical);
});

test.each([
  `${PG}/campaigns`,
  `${PG}/inbox/conversations/7`,
  `${PG}/conversationsx`,
  '/partner-gateway/v10/campaigns',
  '/api/servicesx/sms',
  '/services/sms/send',
  '/?next=/partner-gateway/v1/x',
  '/',
])('%s is left as it is', (url) => {
  expect(canonicalUrl(url)).toBe(url);
});

test('a path that no route can have gets the same response as an unknown one, however long its query may be', () => {
  expect(canonicalUrl(`/${'%2e%2e/'.repeat(14_000)}`)).toBe('/api/unknown');
  const long = `/api/messages/status?ids=${'x'.repeat(40_000)}`;
  expect(canonicalUrl(long)).toBe(long);
});
