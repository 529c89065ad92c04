import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** The parts of a request that a signature covers; `url` is the path with the query, as it was received. */
export type SignedRequest = {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
};

/** Error in a request, by the codes of S3, with its HTTP status. */
export type Refusal = {
  readonly status: 400 | 403;
  readonly code:
    | 'AccessDenied'
    | 'AuthorizationHeaderMalformed'
    | 'InvalidAccessKeyId'
    | 'RequestTimeTooSkewed'
    | 'SignatureDoesNotMatch'
    | 'XAmzContentSHA256Mismatch';
};

type Credentials = { readonly accessKeyId: string; readonly secretAccessKey: string };

const ALGORITHM = 'AWS4-HMAC-SHA256';
const UNSIGNED = 'UNSIGNED-PAYLOAD';
const MAX_SKEW_MS = 15 * 60_000;

const sha256 = (content: string | Buffer): string => createHash('sha256').update(content).digest('hex');
const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();
const denied = (code: Refusal['code']): Refusal => ({ status: 403, code });

/**
 * Checks a request as S3 does: Signature Version 4 (Amazon S3 API Reference, "Authenticating Requests"), in the header or
 * in the query of a presigned URL.
 *
 * @returns null if the owner of the credentials has signed exactly this request, at about this time
 */
export function checkSignature(request: SignedRequest, owner: Credentials, region: string): Refusal | null {
  const signature = readSignature(request);
  if (signature === null) return denied('AccessDenied');
  const { accessKeyId, scope, at, expiresSeconds, signedHeaders, payload, hex } = signature;
  const [day = '', ...place] = scope;
  if (accessKeyId !== owner.accessKeyId) return denied('InvalidAccessKeyId');
  if (place.join('/') !== `${region}/s3/aws4_request`) return { status: 400, code: 'AuthorizationHeaderMalformed' };
  if (!coversEnough(request, signedHeaders)) return denied('AccessDenied');

  const age = Date.now() - instantOf(at);
  if (expiresSeconds === null ? Math.abs(age) > MAX_SKEW_MS : !(age >= -MAX_SKEW_MS && age <= expiresSeconds * 1000))
    return denied(expiresSeconds === null ? 'RequestTimeTooSkewed' : 'AccessDenied');

  const text = [ALGORITHM, at, scope.join('/'), sha256(canonical(request, signedHeaders, payload))].join('\n');
  const key = [day, ...place].reduce<string | Buffer>(
    (secret, part) => hmac(secret, part),
    `AWS4${owner.secretAccessKey}`,
  );
  const [expected, given] = [hmac(key, text), Buffer.from(hex, 'hex')];
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return denied('SignatureDoesNotMatch');
  return payload === UNSIGNED || payload === sha256(request.body)
    ? null
    : { status: 400, code: 'XAmzContentSHA256Mismatch' };
}

type Signature = {
  readonly accessKeyId: string;
  /** The day, the region, the service and the word that ends it. */
  readonly scope: readonly string[];
  /** YYYYMMDDTHHMMSSZ. */
  readonly at: string;
  /** Null for a signature in the header, which is only for now. */
  readonly expiresSeconds: number | null;
  readonly signedHeaders: readonly string[];
  readonly payload: string;
  readonly hex: string;
};

function readSignature({ url, headers }: SignedRequest): Signature | null {
  const query = new URL(url, 'http://any').searchParams;
  if (query.get('X-Amz-Algorithm') === ALGORITHM) {
    const read = (name: string): string => query.get(`X-Amz-${name}`) ?? '';
    const [accessKeyId = '', ...scope] = read('Credential').split('/');
    const signedHeaders = read('SignedHeaders').split(';');
    const expiresSeconds = Number(read('Expires'));
    return {
      accessKeyId,
      scope,
      at: read('Date'),
      expiresSeconds,
      signedHeaders,
      payload: UNSIGNED,
      hex: read('Signature'),
    };
  }
  const found = /^AWS4-HMAC-SHA256 Credential=([^,]+), ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]+)$/.exec(
    headers.authorization ?? '',
  );
  if (found === null) return null;
  const [, credential = '', names = '', hex = ''] = found;
  const [accessKeyId = '', ...scope] = credential.split('/');
  const payload = valueOf(headers, 'x-amz-content-sha256');
  return {
    accessKeyId,
    scope,
    at: valueOf(headers, 'x-amz-date'),
    expiresSeconds: null,
    signedHeaders: names.split(';'),
    payload,
    hex,
  };
}

/** Host and all headers of Amazon must be signed. */
const coversEnough = ({ headers }: SignedRequest, signed: readonly string[]): boolean =>
  signed.includes('host') && Object.keys(headers).every((name) => !name.startsWith('x-amz-') || signed.includes(name));

function canonical({ method, url, headers }: SignedRequest, signed: readonly string[], payload: string): string {
  const { pathname, searchParams } = new URL(url, 'http://any');
  const path = pathname.split('/').map((part) => encode(decodeURIComponent(part)));
  const query = [...searchParams]
    .filter(([name]) => name !== 'X-Amz-Signature')
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .toSorted();
  const lines = signed.map((name) => `${name}:${valueOf(headers, name)}\n`);
  return [method, path.join('/'), query.join('&'), lines.join(''), signed.join(';'), payload].join('\n');
}

const valueOf = (headers: IncomingHttpHeaders, name: string): string =>
  [headers[name] ?? []].flat().join(',').trim().replaceAll(/ +/g, ' ');

const encode = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`);

function instantOf(at: string): number {
  const [, ...parts] = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(at) ?? [];
  const [year = Number.NaN, month = 1, ...rest] = parts.map(Number);
  return Date.UTC(year, month - 1, ...rest);
}
