/** Where an API is: what stands before the path of each request. */
export type Base = {
  /** Scheme, host and port. */
  readonly origin: string;
  /** What every path begins with; empty or `/…` without a slash at its end. */
  readonly prefix: string;
};

const LOOPBACK = /^(127\.\d+\.\d+\.\d+|localhost|\[::1\])$/;

/**
 * Reads the address of an API from settings. Requests carry tokens, so it must be https, but for this machine itself.
 * Throws an Error that begins with the name of the field.
 */
export function parseBase(field: string, text: string): Base {
  const url = URL.parse(text);
  if (!url || (url.protocol !== 'https:' && url.protocol !== 'http:')) throw new Error(`${field}: must be a URL`);
  if (url.protocol === 'http:' && !LOOPBACK.test(url.hostname)) throw new Error(`${field}: must begin with https://`);
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new Error(`${field}: must be a host and a path only`);
  }
  return { origin: url.origin, prefix: url.pathname.replace(/\/+$/, '') };
}
