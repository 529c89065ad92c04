import { createHash, createHmac, createPublicKey, type KeyObject, verify as verifySignature } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { constantTimeEqual } from '../../core/secrets.ts';
import type { Inbound, Receipt, ReceiptState } from '../carrier.ts';
import type { Callbacks, Inbound as InboundMap, Receipts as ReceiptMap, Verify } from './protocol.ts';
import type { HttpSmsSecrets } from './settings.ts';
import { MAX_ID_LENGTH } from './submit.ts';
import {
  compilePlace,
  compileText,
  type Document,
  follow,
  isForm,
  type Read,
  stepsOf,
  toDocument,
  variablesIn,
} from './template.ts';

/** Content of a request to our callback URL. */
export type HttpSmsCallback =
  | { readonly kind: 'forged' }
  /** Neither JSON nor a form, or has more events than a carrier sends at a time. */
  | { readonly kind: 'malformed' }
  | {
      readonly kind: 'events';
      readonly receipts: readonly Receipt[];
      readonly inbounds: readonly Inbound[];
      /** Skipped events, with the reasons. */
      readonly notes: readonly string[];
    };

const DEFAULT_VERIFY = {
  by: 'query',
  name: 'token',
  algorithm: 'hmac-sha256',
  encoding: 'hex',
  over: '{{body}}',
  prefix: '',
  separator: '',
  key: 'signingKey',
  anyPort: false,
  keyEncoding: 'text',
  maxAgeSeconds: 600,
} as const;

/** Larger batches of events are not read at all: a success response must not skip any. */
const MAX_EVENTS = 20_000;

/**
 * Compiles the reader of a carrier's callbacks. The proof that a request comes from the carrier is checked before
 * anything of it is used. An event that is neither a receipt nor an inbound message is skipped with a note, because the
 * carrier would repeat it otherwise. Throws an Error that begins with the field if a key is missing.
 */
export function compileCallbacks(
  { receipts, inbound, verify = DEFAULT_VERIFY }: Callbacks,
  secrets: HttpSmsSecrets,
): (request: CallbackRequest) => HttpSmsCallback {
  const isGenuine = compileVerifier(verify, secrets);
  const confirm = at('confirm' in verify ? verify.confirm : undefined);
  const readEvents = compileEvents({ receipts, inbound });
  // A signature that does not cover the query proves nothing about it.
  const isQueryProven = verify.by !== 'signature' || verify.over.includes('{{url}}');
  return (request) => {
    if (!isGenuine(request)) return { kind: 'forged' };
    const document = toDocument(request.body, request.headers, request.query);
    // With GET, everything is in the query.
    const isInQuery = request.body.length === 0 && isQueryProven;
    const read = isInQuery ? { ...document, json: request.query } : document;
    const events = read.json === undefined ? null : readEvents(read);
    if (events === null) return { kind: 'malformed' };
    const notes = events.receipts.length + events.inbounds.length === 0 ? [noteOn(confirm(read))] : [];
    return { kind: 'events', ...events, notes };
  };
}

/** The receipts and inbound messages in a document of a carrier. */
export type HttpSmsEvents = { readonly receipts: readonly Receipt[]; readonly inbounds: readonly Inbound[] };

/**
 * Compiles the reader of events, in callbacks and in responses to requests for them. Anything that is neither a receipt
 * nor an inbound message is omitted. Returns null if there are more than 20,000, of which none is read.
 */
export function compileEvents({
  receipts,
  inbound,
}: Pick<Callbacks, 'receipts' | 'inbound'>): (document: Document) => HttpSmsEvents | null {
  const readReceipts = receipts && compileList(receipts.list, compileReceipt(receipts));
  const readInbounds = inbound && compileList(inbound.list, compileInbound(inbound));
  return (document) => {
    const [found, came] = [readReceipts ? readReceipts(document) : [], readInbounds ? readInbounds(document) : []];
    return found === null || came === null ? null : { receipts: found, inbounds: came };
  };
}

const noteOn = (url: string): string =>
  url === '' ? 'a callback without a receipt or a message' : `open this URL to confirm the subscription: ${url}`;

/** Null for a list that is too long. */
type ReadAll<T> = (document: Document) => T[] | null;

/** Applies `read` to each member of the list at `list`, or to the whole document. */
function compileList<T>(list: string | undefined, read: (document: Document) => T | null): ReadAll<T> {
  const toList = (one: T | null): T[] => (one === null ? [] : [one]);
  if (list === undefined) return (document) => toList(read(document));
  const steps = stepsOf(list);
  return (document) => {
    const items = follow(document.json, steps);
    if (!Array.isArray(items)) return [];
    if (items.length > MAX_EVENTS) return null;
    return items.flatMap((json) => toList(read({ ...document, json, text: textOf(json) })));
  };
}

/**
 * The text of a member, for the record only. A value nested a hundred thousand levels deep would overflow the stack.
 */
function textOf(json: unknown): string {
  try {
    return JSON.stringify(json);
  } catch {
    return '';
  }
}

const NOTHING: Read = () => '';
const at = (place: string | undefined): Read => (place === undefined ? NOTHING : compilePlace(place));

function compileWhen(when: ReceiptMap['when']): (document: Document) => boolean {
  if (!when) return () => true;
  const read = compilePlace(when.at);
  return (document) => {
    const value = read(document);
    return when.is.includes(value) || (value !== '' && when.is.includes('*'));
  };
}

function compileReceipt(map: ReceiptMap): (document: Document) => Receipt | null {
  const applies = compileWhen(map.when);
  const ids = map.ids.map(compilePlace);
  const [code, time, to, from] = [at(map.code), at(map.at), at(map.to), at(map.from)];
  const named = map.state.split(' | ').map(compilePlace);
  const states = new Map<string, ReceiptState>(
    Object.entries(map.states).map(([name, meant]) => [name.toUpperCase(), meant]),
  );
  return (document) => {
    if (!applies(document)) return null;
    const carrierIds = ids.map((read) => read(document)).filter((id) => id !== '' && id.length <= MAX_ID_LENGTH);
    const said = named.map((read) => read(document).toUpperCase()).filter((text) => text !== '');
    if (carrierIds.length === 0 || said.length === 0) return null;
    const known = said.find((text) => states.has(text));
    const meant = (known !== undefined && states.get(known)) || 'UNKNOWN';
    return {
      carrierIds: [...new Set(carrierIds)],
      state: meant,
      doneAt: readInstant(time(document)),
      // Carriers fill the error field of delivered messages, too.
      errorCode: meant === 'DELIVERED' ? null : code(document).slice(0, 100) || null,
      destination: digitsOf(to(document)),
      sender: from(document).slice(0, 64),
      raw: document.text.slice(0, MAX_RAW_LENGTH).replaceAll('\0', '').toWellFormed(),
    };
  };
}

const MAX_RAW_LENGTH = 4000;

const digitsOf = (number: string): string => number.replace(/^\+/, '').slice(0, 20);

function compileInbound(map: InboundMap): (document: Document) => Inbound | null {
  const applies = compileWhen(map.when);
  const [from, to, text, id, time] = [at(map.from), at(map.to), at(map.text), at(map.id), at(map.at)];
  const [ref, total, part] = [at(map.ref), at(map.total), at(map.part)];
  return (document) => {
    if (!applies(document)) return null;
    const [source, destination] = [from(document), to(document)];
    if (source === '' || destination === '') return null;
    const key = id(document).slice(0, MAX_ID_LENGTH);
    return {
      source: digitsOf(source),
      destination: destination.replace(/^\+/, ''),
      text: text(document),
      concat: concatOf(ref(document), total(document), part(document)),
      raw: Buffer.from(document.text),
      ...(key !== '' && { rich: richOf(key, readInstant(time(document))) }),
    };
  };
}

const richOf = (id: string, when: Date | null) =>
  ({ channel: 'SMS', id, messageType: 'TEXT', at: when, profileName: null, ownNumber: null, media: null }) as const;

/**
 * Reads a part's position. References, as carriers write them, are numbers or any text, which becomes a 16-bit number.
 */
function concatOf(ref: string, total: string, part: string): Inbound['concat'] {
  const [count, seq] = [Number(total), Number(part)];
  if (ref === '' || !Number.isInteger(count) || !Number.isInteger(seq)) return null;
  if (count < 2 || count > 255 || seq < 1 || seq > count) return null;
  const number = /^\d{1,9}$/.test(ref)
    ? Number(ref)
    : Buffer.from(ref).reduce((sum, octet) => (sum * 31 + octet) % 65_536, 7);
  return { ref: number % 65_536, total: count, seq };
}

/** Reads a time of this century: ISO 8601, `yyyy-MM-dd hh:mm:ss` in UTC, or seconds or milliseconds since 1970. */
function readInstant(text: string): Date | null {
  if (/^\d{10}$/.test(text)) return new Date(Number(text) * 1000);
  if (/^\d{13}$/.test(text)) return new Date(Number(text));
  if (!/^20\d\d-\d\d-\d\d[T ]\d\d:\d\d/.test(text)) return null;
  // Without an offset, carriers mean UTC; an offset may lack its colon.
  const iso = text.replace(' ', 'T').replace(/([+-]\d\d)(\d\d)$/, '$1:$2');
  const ms = Date.parse(/(Z|[+-]\d\d:\d\d)$/.test(iso) ? iso : `${iso}Z`);
  return Number.isNaN(ms) ? null : new Date(ms);
}

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
type Verifier = (request: CallbackRequest) => boolean;

/**
 * Compiles the check of callbacks: our token that the carrier repeats, or a signature over parts of the request, with
 * its time if it has one. Compared in constant time. Throws an Error that begins with the field if the key is missing
 * or cannot be read.
 */
function compileVerifier(verify: Verify, secrets: HttpSmsSecrets, now: () => number = Date.now): Verifier {
  const { by, name } = verify;
  const { callbackToken } = secrets;
  const header = name.toLowerCase();
  const isToken = (given: string): boolean => constantTimeEqual(given, callbackToken);
  if (by === 'query') return ({ query }) => isToken(signedTextOf(query[name]));
  if (by === 'header') return ({ headers }) => isToken(signedTextOf(headers[header]).replace(/^Bearer /, ''));
  if (by === 'basic') return ({ headers }) => isToken(passwordIn(signedTextOf(headers.authorization)));
  const isSigned = compileSignature(verify, secrets);
  const timestamp = verify.timestamp === undefined ? undefined : compilePlace(verify.timestamp);
  return (request) => {
    if (!isSigned(request)) return false;
    if (!timestamp) return true;
    const at = readTime(timestamp(toDocument(request.body, request.headers, request.query)));
    return at !== null && Math.abs(now() - at) <= verify.maxAgeSeconds * 1000;
  };
}

const signedTextOf = (value: unknown): string => {
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
    const given = names.reduce((found, name) => found || signedTextOf(request.headers[name]), '');
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
  if (octets.length !== 32) throw new Error('signingKey: must be a public key of Ed25519, 32 bytes in base64');
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
  headers[name] === undefined ? null : signedTextOf(headers[name]);

/** The fields of a form, sorted by name and value, each name directly before its value; a repeated pair counts once. */
function sortedParams(text: string): string {
  const pairs = [...new URLSearchParams(text)].map(([name, value]) => ({ name, value }));
  const sorted = pairs.toSorted((a, b) => compare(a.name, b.name) || compare(a.value, b.value));
  return [...new Set(sorted.map(({ name, value }) => JSON.stringify([name, value])))]
    .map((pair) => String(JSON.parse(pair).join('')))
    .join('');
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
