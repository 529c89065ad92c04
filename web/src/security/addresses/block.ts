const BITS = 32;

/**
 * The number of addresses in an IPv4 block. For IPv6, 1 for a single address and null for a range, whose size would
 * mean nothing to users.
 */
export function addressCountOf(block: string): number | null {
  const [address = '', prefix = ''] = block.split('/');
  if (address.includes(':')) return prefix === '128' ? 1 : null;
  return 2 ** (BITS - Number(prefix));
}

const numberOf = (address: string): number => address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);

/**
 * Returns true if the block is known to include the address. Decided for IPv4 and for single addresses only; the server
 * decides the rest.
 */
export function includesAddress(block: string, address: string): boolean {
  const [first = '', prefix = ''] = block.split('/');
  if (first === address) return true;
  if (first.includes(':') || address.includes(':')) return false;
  const size = 2 ** (BITS - Number(prefix));
  return Math.floor(numberOf(first) / size) === Math.floor(numberOf(address) / size);
}
