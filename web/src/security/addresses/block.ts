const BITS = 32;

/** How many addresses an IPv4 block has; null for one of IPv6, whose count tells nobody anything, but for a single one. */
export function sizeOf(block: string): number | null {
  const [address = '', prefix = ''] = block.split('/');
  if (address.includes(':')) return prefix === '128' ? 1 : null;
  return 2 ** (BITS - Number(prefix));
}

const numberOf = (address: string): number => address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);

/** Whether the block surely has the address: told of IPv4 and of single addresses; the server judges the rest. */
export function holds(block: string, address: string): boolean {
  const [first = '', prefix = ''] = block.split('/');
  if (first === address) return true;
  if (first.includes(':') || address.includes(':')) return false;
  const size = 2 ** (BITS - Number(prefix));
  return Math.floor(numberOf(first) / size) === Math.floor(numberOf(address) / size);
}
