import { expect, test } from 'vitest';
import { isLocalUrl } from './outbound.ts';

test.for([
  ['http://127.0.0.1:8080', true],
  ['http://127.8.9.1', true],
  ['https://LOCALHOST:8443', true],
  ['http://gateway.localhost', true],
  ['http://[::1]:8080', true],
  ['https://0.0.0.0:8080', true],
  ['http://[::]:8080', true],
  ['http://10.0.0.4:8080', false],
  ['https://sms.example.com', false],
  ['https://localhost.example.com', false],
  ['https://127.0.0.1.example.com', false],
] as const)('%s is of use on this machine alone: %s', ([url, local]) => {
  expect(isLocalUrl(url)).toBe(local);
});
