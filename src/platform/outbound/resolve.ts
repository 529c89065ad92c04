import { Resolver } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { platform } from 'node:os';

/** All addresses of a host name, at least one, IPv4 before IPv6. Rejects when there is none or no answer comes. */
export type Resolve = (host: string) => Promise<readonly string[]>;

const HOSTS = platform() === 'win32' ? String.raw`C:\Windows\System32\drivers\etc\hosts` : '/etc/hosts';
const DEADLINE_MS = 3000;

/**
 * The hosts file, then DNS. Not getaddrinfo, which would do the same: it blocks one of the four threads that all files
 * and passwords of the process need too, for as long as somebody's name server keeps it waiting. `localhost` is
 * 127.0.0.1 (RFC 6761), wherever it is asked.
 *
 * @param options.servers name servers, `address` or `address:port`; by default those of the machine
 */
export function createResolve(options: { servers?: readonly string[] } = {}): Resolve {
  return async (host) => {
    const name = host.toLowerCase().replace(/\.$/, '');
    if (name === 'localhost' || name.endsWith('.localhost')) return ['127.0.0.1'];
    const local = addressesIn(await readFile(HOSTS, 'utf8').catch(() => ''), name);
    return local.length > 0 ? local : askDns(name, options.servers);
  };
}

/** What a hosts file says of a name. */
export const addressesIn = (hosts: string, name: string): string[] =>
  hosts.split('\n').flatMap((line) => {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().toLowerCase().split(/\s+/);
    return isIP(address) !== 0 && names.includes(name) ? [address] : [];
  });

/**
 * Of the two questions one answer is enough: most hosts have no IPv6 address, and some servers are silent when asked for
 * it. A resolver of its own each time: it can be given up without the others, and remembers nothing.
 */
async function askDns(name: string, servers: readonly string[] | undefined): Promise<string[]> {
  const resolver = new Resolver({ timeout: 1000, tries: 2 });
  if (servers) resolver.setServers(servers);
  const timer = setTimeout(() => resolver.cancel(), DEADLINE_MS);
  const [four, six] = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
  clearTimeout(timer);
  const addresses = [four, six].flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  if (addresses.length > 0) return addresses;
  throw four.status === 'rejected' ? four.reason : new Error(`${name} has no address`);
}
