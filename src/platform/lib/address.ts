import { BlockList, isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/**
 * Returns an IP address in its canonical form, in which addresses are compared: IPv4 dotted, IPv6 as in RFC 5952, an
 * IPv4-mapped address as its IPv4 address, without a zone. A port, which some proxies append, is removed. Undefined for
 * anything else, such as octal, hexadecimal and shortened IPv4 notations, or the address of a closed socket.
 */
export function canonicalAddress(text = ''): string | undefined {
  const [, bracketed, dotted] = WITH_PORT.exec(text) ?? [];
  const [address = ''] = (bracketed ?? dotted ?? text).split('%', 1);
  return isIP(address) === 0 ? undefined : parse(address).toString();
}

/** `[::1]:80`, `[::1]`, `1.2.3.4:80` and `1.2.3.4`. */
const WITH_PORT = /^(?:\[(.+)\]|([\d.]+))(?::\d{1,5})?$/;

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/**
 * Parses an address that `isIP` accepts. The library alone would take ::1.2.3.4 for the mapped address ::ffff:1.2.3.4.
 */
const parse = (address: string): Address => ipaddr.process(address.includes(':') ? inHex(address) : address);

/** Writes an IPv6 address as the URL standard does: shortened, and without dots. */
const inHex = (address: string): string => new URL(`http://[${address}]`).hostname.slice(1, -1);

/**
 * Returns a block of addresses in its canonical form, `network/bits`: bits below the mask are cleared, a single address
 * is a block of one, a block of IPv4-mapped addresses is the IPv4 block. Undefined if the text is neither an address
 * nor a block.
 */
export function canonicalBlock(text: string): string | undefined {
  const [address = '', bits, ...rest] = text.split('/');
  const version = isIP(address);
  if (version === 0 || rest.length > 0 || (bits !== undefined && !/^\d{1,3}$/.test(bits))) return undefined;
  const size = version === 4 ? 32 : 128;
  const length = bits === undefined ? size : Number(bits);
  if (length > size || address.includes('%')) return undefined;
  const parsed = parse(address);
  if (version === 4 || parsed.kind() === 'ipv6') return blockOf(parsed, length);
  return length < MAPPED_BITS ? blockOf(ipaddr.parse(inHex(address)), length) : blockOf(parsed, length - MAPPED_BITS);
}

/** The length of the prefix of an IPv4-mapped address. */
const MAPPED_BITS = 96;

const blockOf = (address: Address, bits: number): string =>
  (address.kind() === 'ipv4' ? ipaddr.IPv4 : ipaddr.IPv6)
    .networkAddressFromCIDR(`${address.toNormalizedString()}/${bits}`)
    .toString() + `/${bits}`;

/**
 * Returns the block that is likely to belong to one client, for counting: an IPv4 address, or an IPv6 /64, of which its
 * owner can use any address. All invalid addresses count as one client.
 */
export function networkOf(text?: string): string {
  const address = canonicalAddress(text);
  if (address === undefined) return '0.0.0.0/32';
  return blockOf(parse(address), address.includes(':') ? 64 : 32);
}

/** Creates a check that returns true if an address, in any notation, is in one of these canonical blocks. */
export function createAddressList(blocks: readonly string[]): (address?: string) => boolean {
  // One list per kind: a common list would find 1.2.3.4 in ::/0.
  const lists = { ipv4: new BlockList(), ipv6: new BlockList() };
  for (const block of blocks) {
    const [network = '', bits] = block.split('/');
    const kind = kindOf(network);
    lists[kind].addSubnet(network, Number(bits), kind);
  }
  return (text) => {
    const address = canonicalAddress(text);
    return address !== undefined && lists[kindOf(address)].check(address, kindOf(address));
  };
}

const kindOf = (address: string): 'ipv4' | 'ipv6' => (address.includes(':') ? 'ipv6' : 'ipv4');
