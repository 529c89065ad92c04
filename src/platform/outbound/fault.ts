import { ANSWER_TOO_LONG } from './connect.ts';
import { ADDRESS_REFUSED } from './guard.ts';

const WORDS: Readonly<Record<string, string>> = {
  [ADDRESS_REFUSED]: 'the host has an address that is not public',
  [ANSWER_TOO_LONG]: 'the answer is too long',
  ENOTFOUND: 'the host does not resolve',
  ENODATA: 'the host does not resolve',
  EAI_AGAIN: 'the host does not resolve',
  ESERVFAIL: 'the host does not resolve: its name server failed',
  ETIMEOUT: 'the host does not resolve: no answer from its name server',
  ECANCELLED: 'the host does not resolve: no answer from its name server',
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was cut',
  EPIPE: 'the connection was cut',
  ETIMEDOUT: 'no connection in time',
  UND_ERR_CONNECT_TIMEOUT: 'no connection in time',
  UND_ERR_SOCKET: 'the connection ended before the answer did',
  UND_ERR_HEADERS_OVERFLOW: 'the headers of the answer are too long',
  ENETUNREACH: 'the address cannot be reached',
  EHOSTUNREACH: 'the address cannot be reached',
  EADDRNOTAVAIL: 'the address cannot be reached',
};

/** Codes of Node and OpenSSL for certificates that do not verify. */
const CERTIFICATE = /CERT|SELF_SIGNED|UNABLE_TO_|ISSUER|HOSTNAME_MISMATCH/;
const TLS = /^(EPROTO$|ERR_SSL|ERR_TLS)/;

/**
 * In words for the owner of the endpoint, why a request got no answer. Shows the code of the fault at most, never the
 * text of an error, which may name addresses of ours.
 */
export function describeFault(error: unknown): string {
  // Of a host with several addresses, each with its own error.
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  if (!(first instanceof Error)) return 'the request failed';
  if (first.name === 'HTTPParserError') return 'the answer is not valid HTTP';
  const code = 'code' in first && typeof first.code === 'string' ? first.code : first.name;
  const words = WORDS[code];
  if (words !== undefined) return words;
  if (CERTIFICATE.test(code)) return `the certificate is not valid (${code})`;
  if (TLS.test(code)) return `TLS failed (${code})`;
  return `the request failed (${code})`;
}
