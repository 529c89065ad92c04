import { BlockList, isIP, isIPv6 } from 'node:net';
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

/**
 * IPv4 addresses that are not public: all of IANA's special-purpose registry, including the few blocks in it that are
 * globally routed (protocol anycast, no web servers); multicast; the reserved rest; and the address of Azure's metadata
 * service. Those of other clouds are in 169.254.0.0/16, 100.64.0.0/10 and 192.0.0.0/24.
 */
const SPECIAL_IPV4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '168.63.129.16/32',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
];

/**
 * All addresses that IANA has allocated for global unicast. Mapped, compatible, NAT64, local and link-local ones are
 * outside of it.
 */
const GLOBAL_IPV6 = ['2000::/3'];

/** Exceptions within it: protocol assignments with Teredo and ORCHID, documentation (two blocks), 6to4, and AS112. */
const SPECIAL_IPV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20', '2620:4f:8000::/48'];

/**
 * Creates a check that allows an address to be dialled on behalf of an account only if it is public or in a block that
 * the operator allows. Anything but a strictly written address (dots for IPv4, no zone) is rejected. IPv6 forms that
 * embed an IPv4 address are rejected whatever they embed; IPv4 blocks allow only IPv4.
 *
 * @param allowedBlocks CIDR blocks or addresses, as WEBHOOK_ALLOW_CIDRS gives them
 */
export function createAddressCheck(allowedBlocks: readonly string[] = []): (address: string) => boolean {
  const opened4 = blockList(allowedBlocks.filter((block) => !block.includes(':')));
  const opened6 = blockList(allowedBlocks.filter((block) => block.includes(':')));
  return (address) => {
    const version = isIP(address);
    if (version === 4) return !special4.check(address) || opened4.check(address);
    return version === 6 && !address.includes('%') && (isGlobal6(address) || opened6.check(address, 'ipv6'));
  };
}

const special4 = blockList(SPECIAL_IPV4);
const global6 = blockList(GLOBAL_IPV6);
const special6 = blockList(SPECIAL_IPV6);

const isGlobal6 = (address: string): boolean =>
  global6.check(address, 'ipv6') && !special6.check(address, 'ipv6') && !isIsatap(address);

/**
 * RFC 5214: the interface identifier is 0:5efe or 200:5efe, followed by the IPv4 address that packets are tunnelled to.
 */
function isIsatap(address: string): boolean {
  const [, , , , flags = 0, mark] = ipaddr.IPv6.parse(address).parts;
  return mark === 0x5efe && (flags & 0xfcff) === 0;
}

function blockList(blocks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const block of blocks) {
    const [network = '', bits] = block.split('/');
    const family = isIPv6(network) ? 'ipv6' : 'ipv4';
    if (bits === undefined) list.addAddress(network, family);
    else list.addSubnet(network, Number(bits), family);
  }
  return list;
}
