import { createHash, createHmac, createPublicKey, type KeyObject, verify as verifySignature } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { constantTimeEqual } from '../../platform/lib/constant-time-equal.ts';
import { compilePlace, isForm, toDocument } from './place.ts';
import type { Verify } from './protocol.ts';
import type { HttpSmsSecrets } from './settings.ts';
import { compileText, variablesIn } from './template.ts';

/** A request of a carrier to our callback URL. */
export type CallbackRequest = {
  /** The URL as the carrier called it, with its query. */
  readonly url: string;
  readonly query: Readonly<Record<string, unknown>>;
  readonly headers: IncomingHttpHeaders;
  /** The bytes as received. */
  readonly body: Uint8Array;
};

/** Returns true if a request comes from the carrier. */
export type Verifier = (request: CallbackRequest) => boolean;

/**
 * Compiles the check of callbacks: our token that the carrier repeats, or a signature over parts of the request, with
 * its time if it has one. Compared in constant time. Throws an Error that begins with the field if the key is missing
 * or cannot be read.
 */
export function compileVerifier(verify: Verify, secrets: HttpSmsSecrets, now: () => number = Date.now): Verifier {
  const { by, name } = verify;
  const { callbackToken } = secrets;
  const header = name.toLowerCase();
  const isToken = (given: string): boolean => constantTimeEqual(given, callbackToken);
  if (by === 'query') return ({ query }) => isToken(textOf(query[name]));
  if (by === 'header') return ({ headers }) => isToken(textOf(headers[header]).replace(/^Bearer /, ''));
  if (by === 'basic') return ({ headers }) => isToken(passwordIn(textOf(headers.authorization)));
  const isSigned = compileSignature(verify, secrets);
  const timestamp = verify.timestamp === undefined ? undefined : compilePlace(verify.timestamp);
  return (request) => {
    if (!isSigned(request)) return false;
    if (!timestamp) return true;
    const at = readTime(timestamp(toDocument(request.body, request.headers, request.query)));
    return at !== null && Math.abs(now() - at) <= verify.maxAgeSeconds * 1000;
  };
}

const textOf = (value: unknown): string => {
  const [first] = [value].flat();
  return typeof first === 'string' ? first : '';
};

function passwordIn(authorization: string): string {
  const [, encoded = ''] = /^Basic ([\w+/=-]+)$/i.exec(authorization) ?? [];
  const text = Buffer.from(encoded, 'base64').toString();
  return text.slice(text.indexOf(':') + 1);
}

/** Reads seconds or milliseconds since 1970 as milliseconds; null for anything else. */
function readTime(text: string): number | null {
  if (!/^\d{9,14}$/.test(text)) return null;
  const value = Number(text);
  return value < 100_000_000_000 ? value * 1000 : value;
}

type Check = (signed: string, signature: string) => boolean;

function compileSignature(verify: Verify, secrets: HttpSmsSecrets): Verifier {
  const { prefix, separator } = verify;
  const names = verify.name.toLowerCase().split(' | ');
  const check = compileCheck(verify, keyOf(verify, secrets));
  const over = compileText(verify.over);
  const urlsOf = ({ url }: CallbackRequest): string[] => (verify.anyPort ? [url, ...withOtherPort(url)] : [url]);
  const parts = variablesIn(verify.over).map((name) => [name, partOf(name)] as const);
  const signedText = (request: CallbackRequest): string | undefined =>
    over(Object.fromEntries(parts.map(([name, read]) => [name, read(request)])));
  return (request) => {
    const texts = urlsOf(request).map((url) => signedText({ ...request, url }));
    const given = names.reduce((found, name) => found || textOf(request.headers[name]), '');
    const signatures = separator === '' ? [given] : given.split(separator).slice(0, MAX_SIGNATURES);
    return signatures.some(
      (one) =>
        one.startsWith(prefix) &&
        texts.some((signed) => signed !== undefined && check(signed, one.slice(prefix.length).trim())),
    );
  };
}

/** Returns the same URL without its port, or with that of its scheme if it has none. */
function withOtherPort(url: string): string[] {
  const [, scheme = '', host = '', port, rest = ''] =
    /^(https?:\/\/)([^/?#:]+|\[[^/?#\]]+\])(:\d+)?(.*)$/s.exec(url) ?? [];
  if (scheme === '') return [];
  if (port !== undefined) return [`${scheme}${host}${rest}`];
  return [`${scheme}${host}:${scheme === 'https://' ? 443 : 80}${rest}`];
}

/** Maximum signatures checked, more than any rotation of keys leaves valid at a time. */
const MAX_SIGNATURES = 5;

function keyOf({ key, keyEncoding }: Verify, secrets: HttpSmsSecrets): Buffer {
  const secret = secrets[key];
  if (secret === '') throw new Error(`${key}: is required to verify callbacks`);
  return keyEncoding === 'base64' ? Buffer.from(secret.replace(/^whsec_/, ''), 'base64') : Buffer.from(secret);
}

function compileCheck({ algorithm, encoding }: Verify, key: Buffer): Check {
  if (algorithm === 'ed25519') {
    const publicKey = ed25519Key(key);
    return (signed, signature) => {
      const octets = Buffer.from(signature, encoding);
      return octets.length === 64 && verifySignature(null, Buffer.from(signed, 'latin1'), publicKey, octets);
    };
  }
  const hash = algorithm.slice('hmac-'.length);
  // Hex may come in capitals; base64 may not.
  const form = (signature: string): string => (encoding === 'hex' ? signature.toLowerCase() : signature);
  return (signed, signature) =>
    constantTimeEqual(form(signature), createHmac(hash, key).update(signed, 'latin1').digest(encoding));
}

/** The fixed prefix of an Ed25519 public key in DER (RFC 8410). */
const ED25519_DER = Buffer.from('302a300506032b6570032100', 'hex');

/** Reads a public key of 32 bytes in base64. */
function ed25519Key(key: Buffer): KeyObject {
  const octets = key.length === 32 ? key : Buffer.from(key.toString(), 'base64');
  if (octets.length !== 32) throw new Error('signingKey: must be a public key of Ed25519, 32 octets in base64');
  return createPublicKey({ key: Buffer.concat([ED25519_DER, octets]), format: 'der', type: 'spki' });
}

/** Returns the reader of a signed part of a request, by its name in templates; each byte is one character. */
function partOf(name: string): (request: CallbackRequest) => string | null {
  switch (name) {
    case 'url':
      return ({ url }) => url;
    case 'path':
      return ({ url }) => url.split('?', 1)[0] ?? '';
    case 'body':
      return ({ body }) => octetsOf(body).toString('latin1');
    case 'bodySha256':
      return ({ body }) => createHash('sha256').update(body).digest('hex');
    case 'bodyHash':
      return ({ body }) => createHash('sha256').update(body).digest().toString('latin1');
    case 'params':
      return ({ headers, body }) => {
        if (isForm(headers)) return latin1Of(sortedParams(octetsOf(body).toString()));
        // A signature over the fields of a form, or over the URL of a GET alone, proves nothing about another body.
        return body.length === 0 ? '' : null;
      };
    default:
      return ({ headers }) => headerIn(headers, name.slice('header:'.length).toLowerCase());
  }
}

const octetsOf = (body: Uint8Array): Buffer => Buffer.from(body.buffer, body.byteOffset, body.byteLength);
const latin1Of = (text: string): string => Buffer.from(text).toString('latin1');
const headerIn = (headers: IncomingHttpHeaders, name: string): string | null =>
  headers[name] === undefined ? null : textOf(headers[name]);

/** The fields of a form, sorted by name and value, each name directly before its value; a repeated pair counts once. */
function sortedParams(text: string): string {
  const pairs = [...new URLSearchParams(text)].map(([name, value]) => ({ name, value }));
  const sorted = pairs.toSorted((a, b) => compare(a.name, b.name) || compare(a.value, b.value));
  return [...new Set(sorted.map(({ name, value }) => JSON.stringify([name, value])))]
    .map((pair) => String(JSON.parse(pair).join('')))
    .join('');
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
