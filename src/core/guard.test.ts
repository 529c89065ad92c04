import { expect, test } from 'vitest';
import { createGuard } from './outbound.ts';

const guardOf = (addresses: readonly string[]) =>
  createGuard({ allowedBlocks: [], ports: [443], resolve: () => Promise.resolve(addresses) });

test('a host without an address is not dialled', async () => {
  await expect(guardOf([]).resolveAllowed('example.com')).rejects.toThrow('the host has no address');
});

test('of a host with many addresses the first four are dialled, and all are checked', async () => {
  const many = ['8.8.8.1', '8.8.8.2', '8.8.8.3', '8.8.8.4', '8.8.8.5'];
  expect(await guardOf(many).resolveAllowed('example.com')).toEqual(many.slice(0, 4));
  await expect(guardOf([...many, '10.0.0.1']).resolveAllowed('example.com')).rejects.toMatchObject({
    code: 'ERR_ADDRESS_REFUSED',
  });
});
