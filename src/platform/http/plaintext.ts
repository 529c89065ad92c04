import { BlockList, isIP } from 'node:net';

/** Encryption state of an incoming request. */
export type Arrival = {
  /** True if the connection to us uses TLS. */
  readonly encrypted: boolean;
  readonly remoteAddress: string | undefined;
  /** X-Forwarded-Proto as received; several hops are separated by commas. */
  readonly forwardedProto: string | string[] | undefined;
};

/**
 * Creates a check that returns true if an address belongs to TRUST_PROXY (addresses and CIDR blocks; an IPv4-mapped
 * address counts as its IPv4 address).
 */
export function createProxyCheck(blocks: readonly string[]): (address: string | undefined) => boolean {
  if (blocks.length === 0) return () => false;
  const list = new BlockList();
  for (const block of blocks) addBlock(list, block);
  return (address = '') => {
    const family = isIP(address);
    return family !== 0 && list.check(address, family === 6 ? 'ipv6' : 'ipv4');
  };
}

function addBlock(list: BlockList, block: string): void {
  const [address = '', bits] = block.split('/');
  const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
  if (bits === undefined) list.addAddress(address, family);
  else list.addSubnet(address, Number(bits), family);
}

/**
 * Returns true if a request arrived unencrypted over a network. A trusted proxy must state in X-Forwarded-Proto that
 * every hop before it was https; without the header, only TLS to us counts. The header of anyone else is ignored: the
 * connection must use TLS or come from loopback.
 */
export function isPlaintext(arrival: Arrival, isTrusted: (address: string | undefined) => boolean): boolean {
  if (!isTrusted(arrival.remoteAddress)) return !arrival.encrypted && !isLoopbackPeer(arrival.remoteAddress);
  if (arrival.forwardedProto === undefined) return !arrival.encrypted;
  return !String(arrival.forwardedProto)
    .split(',')
    .every((hop) => hop.trim().toLowerCase() === 'https');
}

/** Compares prefixes, since this runs on every request; the kernel writes addresses in one form only. */
const isLoopbackPeer = (address: string | undefined): boolean =>
  address !== undefined && (address.startsWith('127.') || address === '::1' || address.startsWith('::ffff:127.'));
