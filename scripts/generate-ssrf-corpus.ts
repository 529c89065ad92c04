/**
 * Writes proofs/ssrf/corpus.json (--check compares): targets that a webhook must never reach, in every spelling and by
 * every route we know, and public addresses that it must reach. The corpus is made from the IANA registries alone,
 * without the program's own lists.
 */
import ipaddr from 'ipaddr.js';
import { checkOrWrite } from './generated-file.ts';

const FILE = new URL('../proofs/ssrf/corpus.json', import.meta.url);

/** https://www.iana.org/assignments/iana-ipv4-special-registry, multicast, and the rest of class E. */
const HOSTILE_4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
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
/** Addresses of clouds that respond with credentials. */
const METADATA = [
  '169.254.169.254',
  '169.254.170.2',
  '169.254.170.23',
  '169.254.169.123',
  '169.254.0.23',
  '100.100.100.200',
  '192.0.0.192',
  '168.63.129.16',
];
/** https://www.iana.org/assignments/iana-ipv6-special-registry, and the ranges that are not global unicast. */
const HOSTILE_6 = [
  '::/128',
  '::1/128',
  '::/96',
  '::ffff:0:0/96',
  '64:ff9b::/96',
  '64:ff9b:1::/48',
  '100::/64',
  '100:0:0:1::/64',
  '2001::/23',
  '2001::/32',
  '2001:1::/32',
  '2001:2::/48',
  '2001:3::/32',
  '2001:4:112::/48',
  '2001:10::/28',
  '2001:20::/28',
  '2001:30::/28',
  '2001:db8::/32',
  '2002::/16',
  '2620:4f:8000::/48',
  '3fff::/20',
  '5f00::/16',
  'fc00::/7',
  'fd00::/8',
  'fe80::/10',
  'fec0::/10',
  'ff00::/8',
  '200::/7',
  '400::/6',
  '800::/5',
  '1000::/4',
  '4000::/3',
  '6000::/3',
  '8000::/3',
  'a000::/3',
  'c000::/3',
  'e000::/4',
  'f000::/5',
  'f800::/6',
];
const METADATA_6 = ['fd00:ec2::254', 'fd20:ce::254', 'fe80::a9fe:a9fe'];

/** Blocks of well-known public operators. */
const PUBLIC_4 = [
  '1.1.1.0/24',
  '8.8.8.0/24',
  '9.9.9.0/24',
  '13.32.0.0/15',
  '17.0.0.0/8',
  '23.32.0.0/11',
  '34.64.0.0/10',
  '52.0.0.0/10',
  '66.249.64.0/19',
  '91.198.174.0/24',
  '93.184.215.0/24',
  '104.16.0.0/13',
  '129.6.0.0/16',
  '140.82.112.0/20',
  '151.101.0.0/16',
  '172.64.0.0/13',
  '185.15.56.0/22',
  '193.0.0.0/21',
  '199.232.0.0/16',
  '203.0.112.0/24',
  '203.0.114.0/24',
  '208.80.152.0/22',
  '216.58.192.0/19',
  '223.255.255.0/24',
];
const PUBLIC_6 = [
  '2001:200::/32',
  '2001:4860::/32',
  '2001:67c::/32',
  '2003::/19',
  '2400:cb00::/32',
  '2600:1f00::/24',
  '2606:4700::/32',
  '2607:f8b0::/32',
  '2620:0:860::/46',
  '2620:fe::/48',
  '2800:3f0::/32',
  '2a00:1450::/32',
  '2a02:ec80::/32',
  '2a04:4e42::/32',
  '2c0f:fb50::/32',
  '2804::/16',
  '240e::/20',
];

type Bits = { readonly size: 32 | 128; readonly value: bigint };

const parse = (text: string): Bits => {
  const bytes = text.includes(':') ? ipaddr.IPv6.parse(text).toByteArray() : ipaddr.IPv4.parse(text).toByteArray();
  return { size: bytes.length === 4 ? 32 : 128, value: BigInt(`0x${Buffer.from(bytes).toString('hex')}`) };
};
const bytesOf = ({ size, value }: Bits): number[] => [
  ...Buffer.from(value.toString(16).padStart(size / 4, '0'), 'hex'),
];
/** Formats an address as in RFC 5952; mapped addresses in hex, too. */
const show = (bits: Bits): string => {
  const bytes = bytesOf(bits);
  return bits.size === 32 ? bytes.join('.') : new ipaddr.IPv6(bytes).toRFC5952String();
};

/** The offsets of the first two addresses, the middle one, and the last two. */
function offsets(block: string): string[] {
  const [network = '', length] = block.split('/');
  const { size, value } = parse(network);
  const count = 1n << BigInt(size - Number(length));
  const places = [0n, 1n, count / 2n, count - 2n, count - 1n].filter((place) => place >= 0n && place < count);
  return [...new Set(places)].map((place) => show({ size, value: value + place }));
}

const unique = <T>(items: readonly T[]): T[] => [
  ...new Map(items.map((item) => [JSON.stringify(item), item])).values(),
];

const hostile4 = unique([...HOSTILE_4.flatMap(offsets), ...METADATA]);
const hex4 = (address: string): string => Buffer.from(bytesOf(parse(address))).toString('hex');
const tail = (address: string): string => hex4(address).replace(/^(.{4})/, '$1:');
const inverted = (address: string): string => tail(show({ size: 32, value: parse(address).value ^ 0xffffffffn }));

/** IPv6 addresses that lead to an IPv4 address. */
const wrapped = (address: string): string[] => [
  `::ffff:${tail(address)}`,
  `::${tail(address)}`,
  `::ffff:0:${tail(address)}`,
  `64:ff9b::${tail(address)}`,
  `64:ff9b:1::${tail(address)}`,
  `2002:${tail(address)}::1`,
  `2001:0:4136:e378:8000:63bf:${inverted(address)}`,
  `2606:4700::5efe:${tail(address)}`,
  `2606:4700::200:5efe:${tail(address)}`,
  `fe80::5efe:${tail(address)}`,
];
const normal6 = (address: string): string => show(parse(address));
const hostile6 = unique([
  ...[...HOSTILE_6.flatMap(offsets), ...METADATA_6].map(normal6),
  ...hostile4.flatMap(wrapped).map(normal6),
]);
const hostile = [...hostile4, ...hostile6];
const publics = unique([...PUBLIC_4.flatMap(offsets), ...PUBLIC_6.flatMap(offsets)]);

/** The spellings of an IPv4 address that some parser takes for the same address. */
function spellings4(address: string): string[] {
  const [a = 0, b = 0, c = 0, d = 0] = bytesOf(parse(address));
  const octal = (n: number): string => `0${n.toString(8)}`;
  const number = parse(address).value;
  return [
    address,
    `${address}.`,
    String(number),
    `0x${hex4(address)}`,
    `0X${hex4(address).toUpperCase()}`,
    `0${number.toString(8)}`,
    [a, b, c, d].map(octal).join('.'),
    [a, b, c, d].map((n) => `0x${n.toString(16)}`).join('.'),
    `${octal(a)}.0x${b.toString(16)}.${c}.${octal(d)}`,
    `${a}.${b}.${c * 256 + d}`,
    `${a}.${(b * 256 + c) * 256 + d}`,
    `0x${a.toString(16)}.${(b * 256 + c) * 256 + d}`,
    [a, b, c, d].map((n) => `000${n.toString(8)}`).join('.'),
    address.replaceAll('.', '。'),
    address.replace(/\d/g, (digit) => String.fromCodePoint(0xff10 + Number(digit))),
    [...address].map((sign) => `%${sign.codePointAt(0)?.toString(16)}`).join(''),
  ];
}

/** The spellings of an IPv6 address: shortened, in full, in capitals, and with the last four bytes in dotted form. */
function spellings6(address: string): string[] {
  const bytes = bytesOf(parse(address));
  const groups = Array.from({ length: 8 }, (_, i) => Buffer.from(bytes.slice(2 * i, 2 * i + 2)).toString('hex'));
  return [
    address,
    groups.join(':'),
    address.toUpperCase(),
    `${groups.slice(0, 6).join(':')}:${bytes.slice(12).join('.')}`,
  ];
}

/** URLs of an address in all spellings; {port} is the port of the tripwires. */
const literalUrls = [
  ...hostile4.flatMap(spellings4).map((host) => `https://${host}:{port}/`),
  ...hostile6.flatMap((address) => spellings6(address).slice(0, 2)).map((host) => `https://[${host}]:{port}/`),
  ...[...HOSTILE_6.flatMap(offsets), ...METADATA_6]
    .flatMap((address) => spellings6(address).slice(2))
    .map((host) => `https://[${host}]:{port}/`),
];

const LOOPBACK = ['127.0.0.1', '[::1]', '0x7f.1', '2130706433', 'localhost', 'LOCALHOST', 'a.localhost', 'localhost.'];
/** URLs in which parsers disagree about where the host begins or ends, and URLs that are not https at all. */
const trickUrls = LOOPBACK.flatMap((host) => [
  `https://example.com@${host}:{port}/`,
  `https://1.1.1.1@${host}:{port}/`,
  `https://1.1.1.1:443@${host}:{port}/`,
  `https://1.1.1.1%40${host}:{port}/`,
  `https://${host}:{port}#@1.1.1.1/`,
  `https://${host}:{port}/#`,
  `https://${host}:{port}?@1.1.1.1/`,
  `https://${host}:{port}\\@1.1.1.1/`,
  `https://1.1.1.1\\@${host}:{port}/`,
  `https:\\\\${host}:{port}/`,
  `https:/${host}:{port}/`,
  `https:${host}:{port}/`,
  `https:///${host}:{port}/`,
  `https:////${host}:{port}/`,
  ` https://${host}:{port}/`,
  `https://${host}\t:{port}/`,
  `https://\n${host}:{port}/`,
  `ht\ttps://${host}:{port}/`,
  `https://${host}:{port}\u0000.example.com/`,
  `https://\u00ad${host}:{port}/`,
  `https://\u200b${host}:{port}/`,
  `http://${host}:{port}/`,
  `//${host}:{port}/`,
  `wss://${host}:{port}/`,
  `ftp://${host}:{port}/`,
  `gopher://${host}:{port}/_`,
  `jar:https://${host}:{port}!/`,
  `view-source:https://${host}:{port}/`,
]);

const NAMED = publics.slice(0, 60);
const pick = (n: number): string => NAMED[n % NAMED.length] ?? '1.1.1.1';
/** Responses of a name server: the bad address alone, and among good ones in every position. */
const answers = hostile.flatMap((address, n) => [
  [address],
  n % 2 === 0 ? [pick(n), address] : [address, pick(n), pick(n + 1)],
]);
/** Sequences of responses: good at registration, good for a while, and then bad. */
const flips = Array.from({ length: 1200 }, (_, n) => {
  const address = hostile[(n * 7) % hostile.length] ?? '127.0.0.1';
  const bad = [[address], [pick(n + 1), address], [address, pick(n)]][n % 3] ?? [];
  return [...Array.from({ length: 1 + (n % 2) }, (__, turn) => [pick(n + turn)]), bad];
});

/** Locations that fit into a header. */
const locations = [...literalUrls.filter((_, n) => n % 97 === 0), ...trickUrls].filter((url) => /^[!-~]+$/.test(url));
const redirects = [301, 302, 303, 307, 308].flatMap((status) => locations.map((url) => [status, url]));

/** JSON as the formatter writes it. */
const inJson = (item: unknown): string =>
  Array.isArray(item) ? `[${item.map(inJson).join(', ')}]` : JSON.stringify(item);
const list = (items: readonly unknown[]): string => items.map((item) => `    ${inJson(item)}`).join(',\n');
const corpus = { public: publics, urls: unique([...literalUrls, ...trickUrls]), answers, flips, redirects };
const fields = Object.entries(corpus).map(([name, items]) => `  "${name}": [\n${list(items)}\n  ]`);
await checkOrWrite(FILE, `{\n${fields.join(',\n')}\n}\n`);
