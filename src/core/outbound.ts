import { BADNAME, NODATA, NOTFOUND, Resolver } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { isIP, isIPv4, type LookupFunction, type Socket } from 'node:net';
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';
import { Agent, buildConnector } from 'undici';
import packageJson from '../../package.json' with { type: 'json' };
import { createAddressCheck } from './address.ts';
import { lazily } from './background.ts';
import { operatingSystem } from './machine.ts';

/**
 * The `User-Agent` of every request that this program sends: to carriers, to the receivers of webhooks, to social
 * networks and to providers of single sign-on. Some networks respond to requests without one with an error page:
 * WhatsApp's reference for downloads of media lists the header
 * (developers.facebook.com/docs/whatsapp/cloud-api/reference/media#download-media).
 */
export const USER_AGENT = `Heliograph/${packageJson.version}`;

/** Sends a request to an untrusted server and resolves with the whole response; the body is already in memory. */
export type GuardedFetch = (
  url: string,
  init: {
    readonly method: 'GET' | 'POST';
    readonly headers: Readonly<Record<string, string>>;
    readonly body?: string | undefined;
  },
) => Promise<Response>;

/** Covers everything: resolving, connecting, writing, and the whole response. */
const DEADLINE_MS = 5000;

/** Statuses for which a Response must not have a body. */
const BODILESS: ReadonlySet<number> = new Set([204, 205, 304]);

/**
 * Creates a client that reads from untrusted servers: over HTTPS, from addresses and ports that the guard allows,
 * within 5 s. It follows no redirects, decompresses nothing, uses no proxy from the environment, and keeps no
 * connection: it is for requests that are rare. A response may have 64 KiB, headers included. Rejects if there is no
 * complete response; the error may contain addresses of our network, so show `describeFault` of it.
 *
 * @param options.ca further certificate authorities (PEM) to trust
 * @param options.maxAnswerBytes instead of 64 KiB
 */
export function createGuardedFetch(options: {
  guard: Guard;
  ca?: string | undefined;
  deadlineMs?: number;
  maxAnswerBytes?: number;
}): GuardedFetch {
  const { guard, ca, deadlineMs = DEADLINE_MS, maxAnswerBytes } = options;
  const connect = createGuardedConnector({ guard, ca, timeoutMs: deadlineMs, maxAnswerBytes });
  return async (url, { method, headers, body }) => {
    const { protocol, port, origin, pathname, search } = new URL(url);
    if (protocol !== 'https:' || !guard.ports.includes(Number(port || 443)))
      throw new Error('the URL is not allowed: it needs https and an allowed port');
    const agent = new Agent({ connect, allowH2: false, pipelining: 0, maxHeaderSize: 16 * 1024 });
    try {
      const answer = await agent.request({
        origin,
        path: `${pathname}${search}`,
        method,
        headers: { 'user-agent': USER_AGENT, ...headers },
        body: body ?? null,
        signal: AbortSignal.timeout(deadlineMs),
      });
      const bytes = await answer.body.arrayBuffer();
      return new Response(BODILESS.has(answer.statusCode) ? null : bytes, {
        status: answer.statusCode,
        headers: headersOf(answer.headers),
      });
    } finally {
      void agent.destroy();
    }
  };
}

function headersOf(given: Readonly<Record<string, string | string[] | undefined>>): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(given))
    for (const each of [value ?? []].flat()) headers.append(name, each);
  return headers;
}

type Connector = ReturnType<typeof buildConnector>;

/**
 * Creates a connector that opens TLS connections for undici. It dials only addresses that the guard allows, whether the
 * host is a name or an address, and checks the peer's address again before a request is written. Certificates are
 * always verified against the host, regardless of the environment. A connection is closed after 64 KiB of one response,
 * of any kind.
 *
 * @param options.ca certificate authorities (PEM) to trust in addition to those that Node trusts
 * @param options.maxAnswerBytes instead of 64 KiB
 */
export function createGuardedConnector(options: {
  guard: Guard;
  ca?: string | undefined;
  timeoutMs: number;
  maxAnswerBytes?: number | undefined;
}): Connector {
  const { guard, ca, timeoutMs, maxAnswerBytes = MAX_ANSWER_BYTES } = options;
  const own = ca === undefined ? undefined : trusting([ca]);
  const connector = lazily(() =>
    buildConnector({
      allowH2: false,
      timeout: timeoutMs,
      rejectUnauthorized: true,
      secureContext: own ?? trustingUsual(),
      lookup: guardedLookup(guard),
    }),
  );
  return (target, done) => {
    // The lookup is never called for an address: undici and Node dial it as it is.
    if (isIP(target.hostname) !== 0 && !guard.isAllowed(target.hostname)) return done(addressRefusedError(), null);
    connector()(target, (...[error, socket]) => {
      if (error) return done(error, null);
      if (guard.isAllowed(socket.remoteAddress ?? ''))
        return done(null, withoutContinue(limitAnswerSize(socket, maxAnswerBytes)));
      socket.destroy();
      done(addressRefusedError(), null);
    });
  };
}

/** Takes 20 ms: if each connection got the authorities, each would parse all of them. */
const trusting = (more: readonly string[]): SecureContext =>
  createSecureContext({ minVersion: 'TLSv1.2', ca: [...getCACertificates('default'), ...more] });
const trustingUsual = lazily(() => trusting([]));

/**
 * A DNS lookup that returns only checked addresses. They are dialled as checked, without asking the name server again.
 */
export const guardedLookup =
  (guard: Guard): LookupFunction =>
  (host, { all }, done) => {
    guard.resolveAllowed(host).then(
      (addresses) => {
        const found = addresses.map((address) => ({ address, family: isIP(address) }));
        if (all === true) return done(null, found);
        done(null, found[0]?.address ?? '', found[0]?.family);
      },
      (error: Error) => done(error, []),
    );
  };

/** The error code of a response that exceeds the size limit of its connection. */
const ANSWER_TOO_LONG = 'ERR_ANSWER_TOO_LONG';
const MAX_ANSWER_BYTES = 64 * 1024;

/**
 * Counts the bytes read since the last request was written. undici limits headers, and our reader limits bodies; but
 * interim responses or chunk extensions would be parsed for as long as they arrive.
 */
function limitAnswerSize(socket: Socket, maxBytes: number): Socket {
  const read = socket.read.bind(socket);
  let [bytes, written] = [0, 0];
  return Object.assign(socket, {
    read(size?: number): Buffer | null {
      const chunk: Buffer | null = read(size);
      if (socket.bytesWritten !== written) [bytes, written] = [0, socket.bytesWritten];
      bytes += chunk?.length ?? 0;
      if (bytes <= maxBytes) return chunk;
      socket.destroy(Object.assign(new Error('the response is too long'), { code: ANSWER_TOO_LONG }));
      return null;
    },
  });
}

/** A response with status 100 up to its end, at the beginning of some bytes; a part of one has no end. */
const CONTINUE = /^HTTP\/1\.[01] 100\b[^]*?\r\n\r\n/;
const CONTINUE_BEGINS = Buffer.from('HTTP/1.1 100');
/** Maximum size of a 100 Continue, which has hardly a header; beyond it, undici closes the connection. */
const MAX_CONTINUE_BYTES = 1024;

/**
 * Removes responses with status 100 that begin the bytes read since the last request was written. Some servers send them
 * unasked, and a client must be able to read them (RFC 9110, section 15.2); undici closes the connection.
 */
export function withoutContinue(socket: Socket): Socket {
  const read = socket.read.bind(socket);
  let written = 0;
  /** The beginning of a response, as long as it may be one with status 100; null once it is another. */
  let head: Buffer | null = null;
  return Object.assign(socket, {
    read(size?: number): Buffer | null {
      const chunk: Buffer | null = read(size);
      if (socket.bytesWritten !== written) [head, written] = [head ?? Buffer.alloc(0), socket.bytesWritten];
      if (chunk === null || head === null) return chunk;
      head = Buffer.concat([head, chunk]);
      for (let found = endOfContinue(head); found > 0; found = endOfContinue(head)) head = head.subarray(found);
      if (mayBeContinue(head)) return null;
      const rest = head;
      head = null;
      return rest;
    },
  });
}

const endOfContinue = (head: Buffer): number =>
  CONTINUE.exec(head.toString('latin1', 0, MAX_CONTINUE_BYTES))?.[0].length ?? 0;

/** True for bytes whose continuation decides: the minor version is not compared. */
const mayBeContinue = (head: Buffer): boolean =>
  head.length < MAX_CONTINUE_BYTES &&
  CONTINUE_BEGINS.subarray(0, head.length).every((byte, at) => at === MINOR_VERSION_AT || byte === head[at]);
const MINOR_VERSION_AT = 'HTTP/1.'.length;

/**
 * Resolves a host name to all its addresses, at least one, IPv4 before IPv6. Rejects if there is none or no response.
 */
type Resolve = (host: string) => Promise<readonly string[]>;

/** Reads the TXT records of a name; none if it has none or does not exist. Rejects if no name server responds. */
export type ResolveTexts = (name: string) => Promise<readonly string[]>;

type Options = {
  /** Name servers as `address` or `address:port`; by default, or if there are none, those of the machine. */
  readonly servers?: readonly string[];
};

const HOSTS = operatingSystem().hostsFile;
const RESOLVE_DEADLINE_MS = 3000;

/**
 * Creates a resolver that asks the hosts file, then DNS. It does not use getaddrinfo, which does the same but blocks
 * one of the four threads that also serve the files and passwords of the process, for as long as a slow name server
 * takes. `localhost` is always 127.0.0.1 (RFC 6761).
 */
export function createResolve(options: Options = {}): Resolve {
  return async (host) => {
    const name = host.toLowerCase().replace(/\.$/, '');
    if (name === 'localhost' || name.endsWith('.localhost')) return ['127.0.0.1'];
    const local = addressesIn(await readFile(HOSTS, 'utf8').catch(() => ''), name);
    return local.length > 0 ? local : askForAddresses(name, options);
  };
}

export const addressesIn = (hosts: string, name: string): string[] =>
  hosts.split('\n').flatMap((line) => {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().toLowerCase().split(/\s+/);
    return isIP(address) !== 0 && names.includes(name) ? [address] : [];
  });

/** The name does not exist, has no such record, or is too long to exist. */
const NO_RECORD: ReadonlySet<unknown> = new Set([NOTFOUND, NODATA, BADNAME]);

/** Creates a resolver of TXT records, which asks DNS alone. */
export const createResolveTexts =
  (options: Options = {}): ResolveTexts =>
  async (name) => {
    try {
      const records = await askDns(options, (resolver) => resolver.resolveTxt(name));
      // A record of more than 255 bytes comes in pieces.
      return records.map((pieces) => pieces.join(''));
    } catch (error) {
      if (error instanceof Error && 'code' in error && NO_RECORD.has(error.code)) return [];
      throw error;
    }
  };

/** Queries DNS. Each call has its own resolver, which can be cancelled independently. */
async function askDns<T>({ servers = [] }: Options, ask: (resolver: Resolver) => Promise<T>): Promise<T> {
  const resolver = new Resolver({ timeout: 1000, tries: 2 });
  if (servers.length > 0) resolver.setServers(servers);
  const timer = setTimeout(() => resolver.cancel(), RESOLVE_DEADLINE_MS);
  return ask(resolver).finally(() => clearTimeout(timer));
}

/**
 * Asks for IPv4 and IPv6 addresses. One response is enough: most hosts have no IPv6 address, and some name servers do
 * not respond to the question for one.
 */
async function askForAddresses(name: string, options: Options): Promise<string[]> {
  const [four, six] = await askDns(options, (resolver) =>
    Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]),
  );
  const addresses = [four, six].flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  if (addresses.length > 0) return addresses;
  throw four.status === 'rejected' ? four.reason : new Error(`${name} has no address`);
}

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
const addressRefusedError = (): Error =>
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

const MESSAGES: Readonly<Record<string, string>> = {
  [ADDRESS_REFUSED]: 'the host has a non-public address',
  [ANSWER_TOO_LONG]: 'the response is too long',
  ENOTFOUND: 'the host does not resolve',
  ENODATA: 'the host does not resolve',
  EAI_AGAIN: 'the host does not resolve',
  ESERVFAIL: 'the host does not resolve: its name server failed',
  ETIMEOUT: 'the host does not resolve: its name server did not respond',
  ECANCELLED: 'the host does not resolve: its name server did not respond',
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was reset',
  EPIPE: 'the connection was reset',
  ETIMEDOUT: 'the connection timed out',
  TimeoutError: 'the response did not arrive in time',
  // A status that no response can have.
  RangeError: 'the response is not valid HTTP',
  UND_ERR_CONNECT_TIMEOUT: 'the connection timed out',
  UND_ERR_SOCKET: 'the connection was closed before the response was complete',
  UND_ERR_HEADERS_OVERFLOW: 'the headers of the response are too long',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    'the certificate cannot be verified: the server does not send its intermediate certificate, or its authority is not trusted',
  ENETUNREACH: 'the address cannot be reached',
  EHOSTUNREACH: 'the address cannot be reached',
  EADDRNOTAVAIL: 'the address cannot be reached',
};

/** Error codes of Node and OpenSSL for certificates that fail verification. */
const CERTIFICATE = /CERT|SELF_SIGNED|UNABLE_TO_|ISSUER|HOSTNAME_MISMATCH/;
const TLS = /^(EPROTO$|ERR_SSL|ERR_TLS)/;

/**
 * Explains to the owner of an endpoint why a request to it got no response. Shows at most the code of the error, never
 * its text, which may contain our internal addresses.
 */
export function describeFault(error: unknown): string {
  // A host with several addresses fails with one error for each of them.
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  if (!(first instanceof Error)) return 'the request failed';
  if (first.name === 'HTTPParserError') return 'the response is not valid HTTP';
  const code = 'code' in first && typeof first.code === 'string' ? first.code : first.name;
  const words = MESSAGES[code];
  if (words !== undefined) return words;
  if (CERTIFICATE.test(code)) return `the certificate is not valid (${code})`;
  if (TLS.test(code)) return `TLS failed (${code})`;
  return `the request failed (${code})`;
}

/** Maximum delay that a `Retry-After` header can ask for. */
export const MAX_MS = 24 * 3600 * 1000;
const HTTP_DATE = /^[A-Za-z]{3,9},? .+ GMT$/;

/**
 * Parses a Retry-After header, in seconds or as an HTTP date. Returns the delay in ms from `nowMs`, at most 24 hours; 0
 * for a date in the past; null if the header is missing or malformed.
 */
export function parseRetryAfter(value: string | undefined, nowMs: number): number | null {
  const text = value?.trim() ?? '';
  const ms = /^\d{1,15}$/.test(text) ? Number(text) * 1000 : HTTP_DATE.test(text) ? Date.parse(text) - nowMs : NaN;
  return Number.isNaN(ms) ? null : Math.min(MAX_MS, Math.max(0, ms));
}

/**
 * Returns true if a URL is of use on this machine alone: its host is a loopback address, the name localhost, or the
 * unspecified address (0.0.0.0 or ::), on which a server listens but which cannot be dialled. A private address is not
 * local: others in its network reach it.
 */
export function isLocalUrl(url: string): boolean {
  const host = new URL(url).hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  if (isIPv4(host)) return host.startsWith('127.') || host === '0.0.0.0';
  return host === 'localhost' || host.endsWith('.localhost') || host === '::1' || host === '::';
}
