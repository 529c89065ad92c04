import { BADNAME, NODATA, NOTFOUND, Resolver } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { operatingSystem } from '../lib/operating-system.ts';

/**
 * Resolves a host name to all its addresses, at least one, IPv4 before IPv6. Rejects if there is none or no response.
 */
export type Resolve = (host: string) => Promise<readonly string[]>;

/** Reads the TXT records of a name; none if it has none or does not exist. Rejects if no name server responds. */
export type ResolveTexts = (name: string) => Promise<readonly string[]>;

type Options = {
  /** Name servers as `address` or `address:port`; by default, or if there are none, those of the machine. */
  readonly servers?: readonly string[];
};

const HOSTS = operatingSystem().hostsFile;
const DEADLINE_MS = 3000;

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

/** Returns the addresses that a hosts file lists for a name. */
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
  const timer = setTimeout(() => resolver.cancel(), DEADLINE_MS);
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
