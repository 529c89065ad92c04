import { BlockList, isIP } from 'node:net';

/** How a request reached us, as far as encryption goes. */
export type Arrival = {
  /** The connection to us is TLS. */
  readonly encrypted: boolean;
  readonly remoteAddress: string | undefined;
  /** X-Forwarded-Proto as received; several hops stand in it with commas between. */
  readonly forwardedProto: string | string[] | undefined;
};

/** Tells whether an address is one of TRUST_PROXY (addresses and CIDR blocks; an IPv4-mapped address is its IPv4). */
export function trustedProxies(blocks: readonly string[]): (address: string | undefined) => boolean {
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
 * Whether a request came unencrypted over a network (contract 12). A trusted proxy must say that every hop before it
 * was https, and says so itself: silence counts as plaintext. Anyone else's word is not heard: TLS to us, or loopback.
 */
export function isPlaintext(arrival: Arrival, isTrusted: (address: string | undefined) => boolean): boolean {
  if (!isTrusted(arrival.remoteAddress)) return !arrival.encrypted && !isLoopbackPeer(arrival.remoteAddress);
  if (arrival.forwardedProto === undefined) return !arrival.encrypted;
  return !String(arrival.forwardedProto)
    .split(',')
    .every((hop) => hop.trim().toLowerCase() === 'https');
}

/** By prefix, since this runs on every request; the kernel writes addresses in one form only. */
const isLoopbackPeer = (address: string | undefined): boolean =>
  address !== undefined && (address.startsWith('127.') || address === '::1' || address.startsWith('::ffff:127.'));
