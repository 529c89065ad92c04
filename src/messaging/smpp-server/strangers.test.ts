import { expect, test } from 'vitest';
import { createStrangers } from './strangers.ts';

test('one network has its limit, another one is admitted, and a place is free again once', () => {
  const { admit } = createStrangers({ perNetwork: 2, inAll: 10 });
  const first = admit('192.0.2.1');
  expect(admit('192.0.2.1')).not.toBeNull();
  expect(admit('192.0.2.1')).toBeNull();
  expect(admit('192.0.2.2')).not.toBeNull();
  first?.();
  first?.();
  expect(admit('192.0.2.1')).not.toBeNull();
  expect(admit('192.0.2.1')).toBeNull();
});

test('all addresses of an IPv6 /64 count as one network, and all networks have a limit together', () => {
  const { admit } = createStrangers({ perNetwork: 1, inAll: 2 });
  expect(admit('2001:db8::1')).not.toBeNull();
  expect(admit('2001:db8::2')).toBeNull();
  expect(admit('2001:db8:0:1::1')).not.toBeNull();
  expect(admit('192.0.2.9')).toBeNull();
});
