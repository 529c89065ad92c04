import { isIP } from 'node:net';
import { createAddressCheck } from './public-address.ts';
import { createResolve, type Resolve } from './resolve.ts';

/**
 * Decides which addresses may be dialled on behalf of an account: checked at registration, and again for every
 * connection.
 */
export type Guard = {
  /** The ports that may be dialled. */
  readonly ports: readonly number[];
  /** Returns true if this address may be dialled. */
  isAllowed(address: string): boolean;
  /**
   * Resolves a host (a name or an address) to the addresses to dial, at least one. Rejects with `addressRefusedError`
   * if even one of its addresses may not be dialled, and with the error of the lookup if it has none.
   */
  resolveAllowed(host: string): Promise<readonly string[]>;
};

/** The error code of a host with an address that may not be dialled. */
export const ADDRESS_REFUSED = 'ERR_ADDRESS_REFUSED';

/** Creates the error for a denied address. It does not name the address, which may be known only on our network. */
export const addressRefusedError = (): Error =>
  Object.assign(new Error('the host has a non-public address'), { code: ADDRESS_REFUSED });

/** Maximum addresses of a host, since those of a host that is down would be tried one after the other. */
const MAX_ADDRESSES = 4;

/**
 * Creates a guard that allows public addresses and `allowedBlocks`.
 *
 * @param options.allowedBlocks addresses and CIDR blocks that the operator allows in addition to public addresses
 */
export function createGuard(options: {
  allowedBlocks: readonly string[];
  ports: readonly number[];
  resolve?: Resolve;
}): Guard {
  const { allowedBlocks, ports, resolve = createResolve() } = options;
  const isAllowed = createAddressCheck(allowedBlocks);
  return {
    ports,
    isAllowed,
    async resolveAllowed(host) {
      const addresses = isIP(host) === 0 ? await resolve(host) : [host];
      if (addresses.length === 0) throw new Error('the host has no address');
      if (!addresses.every(isAllowed)) throw addressRefusedError();
      return addresses.slice(0, MAX_ADDRESSES);
    },
  };
}
