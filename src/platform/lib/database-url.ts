/**
 * Splits a URL of PostgreSQL with several hosts, as libpq writes them (`postgres://user@a:5432,b:5432/name`), into one URL
 * for each host, in order. Any other text is returned as it is.
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

const LIBPQ_MODE = /[?&]sslmode=(disable|prefer|require|verify-ca|verify-full)(&|$)/;

/**
 * Lets `sslmode` in a URL of PostgreSQL mean what it means to libpq and to everything built on it: `require` encrypts, and
 * checks the certificate against `sslrootcert` if that is given, and `verify-full` checks the host name, too. The driver
 * alone takes each of them for `verify-full`.
 */
export const withLibpqModes = (url: string): string =>
  LIBPQ_MODE.test(url) && !url.includes('uselibpqcompat=') ? `${url}&uselibpqcompat=true` : url;
