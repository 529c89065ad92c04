import { isIP } from 'node:net';
import { createPublicAddress } from './public-address.ts';
import { createResolve, type Resolve } from './resolve.ts';

/** What may be dialled on behalf of an account: asked at registration, and again for every connection. */
export type Guard = {
  readonly ports: readonly number[];
  /** Whether this address may be dialled. */
  isOpen(address: string): boolean;
  /**
   * The addresses that this host, a name or an address, may be dialled at; at least one. Rejects with addressRefused
   * when even one of its addresses may not be, and with the error of the look-up when it has none.
   */
  addressesOf(host: string): Promise<readonly string[]>;
};

export const ADDRESS_REFUSED = 'ERR_ADDRESS_REFUSED';

/** Says of no address that it is the one: a name may be known inside only, and its addresses are nobody's business. */
export const addressRefused = (): Error =>
  Object.assign(new Error('the host has an address that is not public'), { code: ADDRESS_REFUSED });

/** A host may have many addresses; those of a host that is down would be tried one after the other. */
const DIALLED = 4;

/** @param options.openBlocks blocks that the operator allows besides public addresses */
export function createGuard(options: {
  openBlocks: readonly string[];
  ports: readonly number[];
  resolve?: Resolve;
}): Guard {
  const { openBlocks, ports, resolve = createResolve() } = options;
  const isOpen = createPublicAddress(openBlocks);
  return {
    ports,
    isOpen,
    async addressesOf(host) {
      const addresses = isIP(host) === 0 ? await resolve(host) : [host];
      if (addresses.length === 0) throw new Error('the host has no address');
      if (!addresses.every(isOpen)) throw addressRefused();
      return addresses.slice(0, DIALLED);
    },
  };
}
