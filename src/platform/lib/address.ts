import { BlockList, isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/**
 * An IP address in the one form in which addresses are compared: IPv4 in dots, IPv6 shortened as RFC 5952 says, an
 * IPv4-mapped one as its IPv4, without a zone. A port, which some proxies write behind it, is left out. Undefined for
 * anything else; octal, hexadecimal and shortened spellings of IPv4 are anything else, and so is the address of a
 * socket that is gone.
 */
export function canonicalAddress(text = ''): string | undefined {
  const [, bracketed, dotted] = WITH_PORT.exec(text) ?? [];
  const [address = ''] = (bracketed ?? dotted ?? text).split('%', 1);
  return isIP(address) === 0 ? undefined : parse(address).toString();
}

/** `[::1]:80`, `[::1]`, `1.2.3.4:80` and `1.2.3.4`. */
const WITH_PORT = /^(?:\[(.+)\]|([\d.]+))(?::\d{1,5})?$/;

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** Of what `isIP` calls an address. The library by itself would take ::1.2.3.4 for the mapped ::ffff:1.2.3.4. */
const parse = (address: string): Address => ipaddr.process(address.includes(':') ? inHex(address) : address);

/** As the URL standard writes an IPv6 address: shortened, and without dots. */
const inHex = (address: string): string => new URL(`http://[${address}]`).hostname.slice(1, -1);

/**
 * A block of addresses in its one form, `network/bits`: bits below the mask are cleared, a lone address is a block of
 * one, a block of IPv4-mapped addresses is the IPv4 block. Undefined for what is neither.
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

/** Of an IPv4-mapped address, before its IPv4. */
const MAPPED_BITS = 96;

const blockOf = (address: Address, bits: number): string =>
  (address.kind() === 'ipv4' ? ipaddr.IPv4 : ipaddr.IPv6)
    .networkAddressFromCIDR(`${address.toNormalizedString()}/${bits}`)
    .toString() + `/${bits}`;

/**
 * The block that one party is likely to have to itself, for counting: an IPv4 address, or a /64 of IPv6, any address of
 * which its owner can take at will. What is no address at all counts as one party.
 */
export function networkOf(text?: string): string {
  const address = canonicalAddress(text);
  if (address === undefined) return '0.0.0.0/32';
  return blockOf(parse(address), address.includes(':') ? 64 : 32);
}

/** Tells whether an address, in any of its forms, lies in one of these canonical blocks. */
export function createAddressList(blocks: readonly string[]): (address?: string) => boolean {
  // One for each kind: a list of both would find 1.2.3.4 in ::/0.
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
