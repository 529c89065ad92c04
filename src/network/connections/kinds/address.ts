/** Returns host and port of an http:// or https:// URL. */
export function addressOfUrl(url: string): { host: string; port: number } {
  const { hostname, port, protocol } = new URL(url);
  const defaultPort = protocol === 'https:' ? 443 : 80;
  return { host: hostname.replace(/^\[|\]$/g, ''), port: port === '' ? defaultPort : Number(port) };
}
