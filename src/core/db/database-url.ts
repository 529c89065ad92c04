/**
 * Splits a URL of PostgreSQL with several hosts, as libpq writes them (`postgres://user@a:5432,b:5432/name`), into one
 * URL for each host, in order. Any other text is returned as it is.
 */
export function splitHosts(url: string): string[] {
  const scheme = url.indexOf('://');
  if (scheme === -1) return [url];
  const authority = scheme + '://'.length;
  const length = url.slice(authority).search(/[/?#]/);
  const end = length === -1 ? url.length : authority + length;
  const start = Math.max(authority, url.lastIndexOf('@', end - 1) + 1);
  const [head, hosts, tail] = [url.slice(0, start), url.slice(start, end), url.slice(end)];
  return hosts.split(',').map((host) => `${head}${host}${tail}`);
}

/**
 * Returns a readable name of a URL's database, with all its hosts and without its password: `heliograph at db-1:5432,
 * db-2:5432`, or `heliograph at /var/run/postgresql` for a socket.
 */
export function nameOfDatabase(url: string): string {
  const urls = splitHosts(url).map((one) => new URL(one));
  const [first] = urls;
  const name = decodeURIComponent(first?.pathname.slice(1) || first?.username || '');
  return `${name} at ${urls.map(hostOf).join(', ')}`;
}

function hostOf({ hostname, port, searchParams }: URL): string {
  const host = searchParams.get('host') ?? decodeURIComponent(hostname);
  return host.startsWith('/') ? host : `${host}:${port || '5432'}`;
}

const MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'] as const;
/** The driver's own word for `require` without any check. */
const UNCHECKED = 'no-verify';
const PARAMETERS = ['sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'sslpassword', 'sslnegotiation', 'ssl'] as const;

/** Encryption that a PostgreSQL URL asks for; absent parameters are undefined. */
export type DatabaseTls = {
  readonly mode: (typeof MODES)[number];
  /** Extent of the check of the server's certificate, and the host name in it. */
  readonly checks: 'nothing' | 'authority' | 'authority and name';
  /** True if TLS begins immediately, without asking the server first (PostgreSQL 17 and newer). */
  readonly isDirect: boolean;
  /**
   * The file with the authorities that may have signed the certificate; `system` for those that this machine trusts.
   */
  readonly sslrootcert: string | undefined;
  readonly sslcert: string | undefined;
  readonly sslkey: string | undefined;
  readonly sslpassword: string | undefined;
};

/**
 * Reads the TLS parameters of a PostgreSQL URL, with one or several hosts. They have the same meaning as in libpq
 * (section "SSL Support" of its manual), with three differences: `allow` is `prefer`, so it encrypts wherever it can;
 * `verify-full` without `sslrootcert` trusts the authorities that this machine trusts; and files are used only if they
 * are named. Also takes `ssl=true` for `require`, as libpq does, and `sslmode=no-verify`, a word of the driver.
 *
 * @returns `server`, the URL without these parameters, and `tls`
 * @throws an error whose message completes the sentence "<KEY> …", for contradictory or unsupported parameters
 */
export function readTls(url: string): { readonly server: string; readonly tls: DatabaseTls } {
  const [address = '', query = ''] = splitOnce(url, '?');
  const given = new URLSearchParams(query);
  const values = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(query)) {
    if (!/^ssl|^uselibpqcompat$/.test(name)) continue;
    given.delete(name);
    values.set(name, value);
  }
  const unknown = [...values.keys()].find((name) => name.startsWith('ssl') && !PARAMETERS.some((one) => one === name));
  if (unknown !== undefined) throw new Error(`has the parameter ${unknown}, which is not supported: remove it`);
  const isSocket = given.get('host')?.startsWith('/') === true || /^[^?]*(?:@|:\/\/)%2f/i.test(address);
  const tls = interpret((name) => values.get(name) || undefined);
  const server = given.size === 0 ? address : `${address}?${given.toString()}`;
  return { server, tls: isSocket ? { ...tls, mode: 'disable' } : tls };
}

type Read = (name: (typeof PARAMETERS)[number]) => string | undefined;

function interpret(read: Read): DatabaseTls {
  const [sslrootcert, sslcert, sslkey] = [read('sslrootcert'), read('sslcert'), read('sslkey')];
  const mode = modeOf(read);
  const isWeak = mode === 'disable' || mode === 'allow' || mode === 'prefer';
  if (sslrootcert === 'system' && mode !== 'verify-full')
    throw new Error('must have sslmode=verify-full with sslrootcert=system: anyone can get a certificate from these');
  if (mode === 'verify-ca' && sslrootcert === undefined)
    throw new Error('must have sslrootcert=/path/to/ca.pem with sslmode=verify-ca, or sslmode=verify-full');
  if ((sslcert === undefined) !== (sslkey === undefined))
    throw new Error('must have sslcert and sslkey together: a certificate and its key');
  const negotiation = choose('sslnegotiation', read('sslnegotiation') ?? 'postgres', ['postgres', 'direct']);
  const isDirect = negotiation === 'direct';
  if (isDirect && isWeak) throw new Error('must have sslmode=require or stricter with sslnegotiation=direct');
  const checksAuthority = !isWeak && sslrootcert !== undefined && read('sslmode') !== UNCHECKED;
  const checks = mode === 'verify-full' ? 'authority and name' : checksAuthority ? 'authority' : 'nothing';
  return { mode, checks, isDirect, sslrootcert, sslcert, sslkey, sslpassword: read('sslpassword') };
}

function modeOf(read: Read): DatabaseTls['mode'] {
  const mode = choose('sslmode', read('sslmode') ?? defaultMode(read), [...MODES, UNCHECKED]);
  return mode === UNCHECKED ? 'require' : mode;
}

function defaultMode(read: Read): string {
  if (read('sslrootcert') === 'system') return 'verify-full';
  const ssl = choose('ssl', read('ssl') ?? '', ['', 'true', '1', 'false', '0', UNCHECKED]);
  if (ssl === 'false' || ssl === '0') return 'disable';
  return ssl !== '' || read('sslnegotiation') === 'direct' ? 'require' : 'prefer';
}

function choose<T extends string>(name: string, value: string, choices: readonly T[]): T {
  const choice = choices.find((known) => known === value);
  if (choice !== undefined) return choice;
  throw new Error(`must have ${name} as one of ${choices.filter(Boolean).join(', ')}, not ${value}`);
}

function splitOnce(text: string, separator: string): string[] {
  const at = text.indexOf(separator);
  return at === -1 ? [text] : [text.slice(0, at), text.slice(at + separator.length)];
}
