import { trimCharacterEnd } from '../../platform/lib/trim.ts';

/** The base address of an API: everything before the path of a request. */
export type BaseUrl = {
  /** Scheme, host and port. */
  readonly origin: string;
  /** The beginning of every path: empty, or `/…` without a trailing slash. */
  readonly prefix: string;
};

const LOOPBACK = /^(127\.\d+\.\d+\.\d+|localhost|\[::1\])$/;

/**
 * Parses the base URL of an API from the settings. Requests carry tokens, so it must be https, except on the loopback
 * interface. Throws an Error that begins with the name of the field.
 */
export function parseBaseUrl(field: string, text: string): BaseUrl {
  const url = URL.parse(text);
  if (!url || (url.protocol !== 'https:' && url.protocol !== 'http:')) throw new Error(`${field}: must be a URL`);
  if (url.protocol === 'http:' && !LOOPBACK.test(url.hostname)) throw new Error(`${field}: must begin with https://`);
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new Error(`${field}: must be a host and a path only`);
  }
  return { origin: url.origin, prefix: trimCharacterEnd(url.pathname, '/') };
}
