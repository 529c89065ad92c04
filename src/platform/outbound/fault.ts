import { ANSWER_TOO_LONG } from './connect.ts';
import { ADDRESS_REFUSED } from './guard.ts';

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
