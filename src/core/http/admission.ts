import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AuthRequest } from '../actor.ts';
import type { Config } from '../config.ts';
import { AppError } from '../errors.ts';
import { REQUEST_ID } from './app.ts';
import { nulError } from './body.ts';
import { foreignPageError } from './browser.ts';

/** The Cache-Control of all responses that do not have their own. */
export const NOT_STORED = 'no-store';

/** Path prefix that machines on the network probe over plain HTTP; the responses contain nothing confidential. */
export const HEALTH_PREFIX = '/health/';

/** Checks that apply to every request, whatever its route. */
export type Admission = {
  /** Sets the headers that every response has. */
  stamp(request: FastifyRequest, reply: FastifyReply): void;
  /** Returns the same headers in the form of Node: each name before its value. */
  headersOf(requestId: string): string[];
  /** Returns the reason to reject a request; undefined if it may proceed. */
  refusal(request: FastifyRequest): AppError | undefined;
  /** Returns that of a request which no page of a browser sent. */
  refusalOfProgram(request: IncomingMessage): AppError | undefined;
  /** Returns what authentication needs of a request, with its address as the trusted proxies report it. */
  callerOf(request: IncomingMessage): AuthRequest;
};

/**
 * Creates the checks: plaintext from the network, a missing or second Host, NUL in the URL, and changes requested by a page of
 * another origin are rejected.
 */
export function createAdmission(config: Config, isTrusted: (address: string | undefined) => boolean): Admission {
  const secure = config.tls !== undefined || config.trustProxy.length > 0;
  // A shared cache may store anything that does not forbid it, and does not know about keys in X-API-Key (RFC 9111, 3).
  // Routes whose responses may be stored set the header themselves.
  const fixed: readonly string[] = [
    'cache-control',
    NOT_STORED,
    'x-content-type-options',
    'nosniff',
    ...(secure ? ['strict-transport-security', 'max-age=31536000'] : []),
  ];
  const headersOf = (requestId: string): string[] => [...fixed, REQUEST_ID, requestId];
  const refusalOfProgram = ({ socket, headers, rawHeaders, httpVersion, url = '' }: IncomingMessage) => {
    const arrival = {
      encrypted: 'encrypted' in socket,
      remoteAddress: socket.remoteAddress,
      forwardedProto: headers['x-forwarded-proto'],
    };
    if (isPlaintext(arrival, isTrusted) && !url.startsWith(HEALTH_PREFIX)) return new AppError('plaintext_refused');
    if (headers.host === undefined && httpVersion === '1.1') return missingHost();
    if (countHosts(rawHeaders) > 1) return new AppError('invalid', { message: 'There is more than one Host header' });
    return url.includes('%00') ? nulError('url') : undefined;
  };
  return {
    stamp: (request, reply) => {
      const headers = headersOf(request.id);
      for (let i = 0; i < headers.length; i += 2) reply.header(headers[i] ?? '', headers[i + 1]);
    },
    headersOf,
    refusal: (request) => refusalOfProgram(request.raw) ?? foreignPageError(request),
    refusalOfProgram,
    callerOf: ({ socket, headers }) => ({
      headers,
      ip: addressOf(socket.remoteAddress, headers['x-forwarded-for'], isTrusted),
      protocol: 'encrypted' in socket ? 'https' : 'http',
    }),
  };
}

/** Returns the first address before ours that is not a trusted proxy, as Fastify does; of trusted ones, the last. */
function addressOf(
  peer: string | undefined,
  forwarded: string | string[] | undefined,
  isTrusted: (address: string | undefined) => boolean,
): string {
  if (forwarded === undefined || !isTrusted(peer)) return peer ?? '';
  const hops = String(forwarded)
    .split(',')
    .map((hop) => hop.trim())
    .reverse();
  return hops.find((hop) => !isTrusted(hop)) ?? hops.at(-1) ?? '';
}

/** Counts the Host headers of a request; Node keeps the first one (RFC 9112, section 3.2). */
function countHosts(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2)
    if (rawHeaders[i]?.length === 4 && rawHeaders[i]?.toLowerCase() === 'host') count += 1;
  return count;
}

const missingHost = (): AppError => new AppError('invalid', { message: 'The Host header is missing' });

/** Encryption state of an incoming request. */
type Arrival = {
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
