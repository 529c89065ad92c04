import { isIPv4 } from 'node:net';

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
