import { tlvVariables } from '../message-tlvs.ts';
import { createHash, createHmac } from 'node:crypto';
import { countParts } from '../../smpp/text.ts';
import type { Submission } from '../carrier.ts';
import { type HttpRequest, parseBaseUrl } from '../http-client.ts';
import { HEADER_VALUE, isFields, isOfConnection, type Request, type Variable } from './protocol.ts';
import type { HttpSmsSecrets, Resolved } from './settings.ts';
import { compileFields, compileJson, compileText, type Value, type Values, variablesIn } from './template.ts';

/** Creates requests to a carrier from the variables of messages. */
type Requests = {
  /** Creates the request of a message; null if a header would get characters that no header can have. */
  send(values: Values): HttpRequest | null;
  /** Creates the request that sends nothing, which probes the carrier. */
  probe(values: Values): HttpRequest;
};

/**
 * Compiles the requests of a connection. Values are written as each place needs it: in JSON as members of the tree, in
 * forms, queries and paths percent-encoded, so that no value can add a field, a parameter or a header.
 */
export function compileRequests(resolved: Resolved, { apiKey }: HttpSmsSecrets): Requests {
  const { request, probePath = '/' } = resolved;
  const { origin, prefix } = parseBaseUrl('baseUrl', resolved.baseUrl);
  const path = compileText(request.path, encode);
  const probe = compileText(probePath, encode);
  const query = compileFields(request.query);
  const headers = compileFields(lowerCase(request.headers));
  const user = compileText(request.username);
  const body = compileBody(request);

  function headersOf(values: Values): Record<string, string> {
    const auth = authorization(request.auth, user(values) ?? '', apiKey);
    return Object.fromEntries([...(auth === null ? [] : [['authorization', auth] as const]), ...headers(values)]);
  }

  /** Returns the headers of a message; null if one would get invalid characters. */
  function messageHeaders(values: Values, type: string | undefined): Record<string, string> | null {
    const all = { ...(type !== undefined && { 'content-type': type }), ...headersOf(values) };
    return Object.values(all).every((value) => HEADER_VALUE.test(value)) ? all : null;
  }
  const isFixed = variablesIn([request.headers, request.username]).every(isOfConnection);
  let fixed: Record<string, string> | null | undefined;

  return {
    send(values) {
      const written = body(values);
      // Most carriers get the same headers with every message.
      const all = isFixed ? (fixed ??= messageHeaders(values, written?.type)) : messageHeaders(values, written?.type);
      if (all === null) return null;
      const pairs = query(values).map(([name, value]) => `${encode(name)}=${encode(value)}`);
      const sent: HttpRequest = {
        method: request.method,
        origin,
        path: `${prefix}${path(values) ?? '/'}${pairs.length === 0 ? '' : `?${pairs.join('&')}`}`,
        headers: all,
        ...(written !== null && { body: written.text }),
      };
      return request.auth === 'aws' ? signForAws(sent, { id: user(values) ?? '', secret: apiKey }, Date.now()) : sent;
    },
    probe: (values) => ({
      method: 'GET',
      origin,
      path: `${prefix}${probe(values) ?? '/'}`,
      // Without its own path the probe requests nothing, and the credentials are not needed.
      headers: resolved.probePath === undefined ? {} : headersOf({ ...values }),
    }),
  };
}

const encode = (text: string): string => encodeURIComponent(text.toWellFormed());

const lowerCase = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));

function authorization(auth: Request['auth'], username: string, apiKey: string): string | null {
  if (auth === 'bearer') return `Bearer ${apiKey}`;
  return auth === 'basic' ? `Basic ${Buffer.from(`${username}:${apiKey}`).toString('base64')}` : null;
}

type Written = { readonly type: string; readonly text: string };

function compileBody({ format, body }: Request): (values: Values) => Written | null {
  if (format === 'none') return () => null;
  if (format === 'form' && isFields(body)) {
    const fields = compileFields(body);
    return (values) => ({
      type: 'application/x-www-form-urlencoded',
      text: new URLSearchParams(fields(values).map(([name, value]) => [name, value])).toString(),
    });
  }
  const json = compileJson(body ?? {});
  return (values) => ({ type: 'application/json', text: JSON.stringify(json(values) ?? {}) });
}

/** The form of a number, unlike a name or a short code. */
const LONG_NUMBER = /^[1-9]\d{6,14}$/;

const withPlus = (sender: string): string => (LONG_NUMBER.test(sender) ? `+${sender}` : sender);
const withoutPlus = (number: string): string => number.replace(/^\+/, '');
const orNull = (text: string): string | null => (text === '' ? null : text);

/** The values that all messages of a connection share. */
export const sharedValues = ({ account }: Resolved, secrets: HttpSmsSecrets, callbackUrl: string | null) => ({
  account: account ?? null,
  apiKey: orNull(secrets.apiKey),
  signingKey: orNull(secrets.signingKey),
  callbackToken: secrets.callbackToken,
  callbackUrl,
});

/** Returns the value of each variable for one message at the time `now` in ms. */
export function valuesOf(
  shared: ReturnType<typeof sharedValues>,
  { gsm, ucs2, maxValiditySeconds = Number.POSITIVE_INFINITY }: Pick<Request, 'gsm' | 'ucs2' | 'maxValiditySeconds'>,
  submission: Submission,
  now: number,
): Readonly<Record<Variable, Value>> {
  const { messageId, destination, body, validUntil, wantReceipt } = submission;
  const sender = withoutPlus(submission.sender);
  const ownMs = validUntil === null ? null : Math.max(1000, validUntil.getTime() - now);
  const validityMs = ownMs === null ? null : Math.min(ownMs, maxValiditySeconds * 1000);
  // Counted on demand: few requests contain the slow ones.
  let counted: ReturnType<typeof countParts> | undefined;
  const count = () => (counted ??= countParts(body));
  return {
    ...shared,
    ...tlvVariables(submission.tlvs),
    to: destination,
    toDigits: withoutPlus(destination),
    from: orNull(withPlus(sender)),
    fromPlain: orNull(sender),
    text: body,
    get parts() {
      return count().parts;
    },
    get encoding() {
      return count().alphabet === 'gsm7' ? gsm : ucs2;
    },
    messageId,
    wantReceipt,
    validityMs,
    validitySeconds: validityMs === null ? null : Math.ceil(validityMs / 1000),
    validityMinutes: validityMs === null ? null : Math.ceil(validityMs / 60_000),
    get validUntil() {
      return validityMs === null ? null : new Date(now + validityMs).toISOString();
    },
  };
}

/** The credentials of an AWS user: the access key id and its secret. */
type AwsKey = { readonly id: string; readonly secret: string };

type Scope = { readonly service: string; readonly region: string };

/** Scope for a proxy in front of AWS, or a test server, which have none of its host names. */
const ELSEWHERE: Scope = { service: 'sms-voice', region: 'us-east-1' };

/** Returns service and region from the host name of an AWS endpoint: `sms-voice.eu-west-1.amazonaws.com`. */
function scopeOf(host: string): Scope {
  const [service, region, ...rest] = host.split('.');
  const isAws = rest[0] === 'amazonaws' && service !== undefined && region !== undefined;
  return isAws ? { service, region } : ELSEWHERE;
}

/**
 * Signs a request without a query for AWS, at the time `now` in ms (Signature Version 4,
 * docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html): adds `x-amz-date` and
 * `authorization`, which covers method, path, all headers and the body, and is valid for five minutes. The host names
 * service and region, unless they are `named`.
 */
export function signForAws(request: HttpRequest, { id, secret }: AwsKey, now: number, named?: Scope): HttpRequest {
  const { host } = new URL(request.origin);
  const { service, region } = named ?? scopeOf(host);
  const at = new Date(now).toISOString().replace(/[-:]|\.\d+/g, '');
  const day = at.slice(0, 8);
  const headers = Object.entries({ ...request.headers, host, 'x-amz-date': at }).toSorted(([a], [b]) =>
    a < b ? -1 : 1,
  );
  const names = headers.map(([name]) => name).join(';');
  const written = headers.map(([name, value]) => `${name}:${value.trim()}\n`).join('');
  const canonical = [request.method, request.path, '', written, names, sha256(request.body ?? '')].join('\n');
  const scope = `${day}/${region}/${service}/aws4_request`;
  const key = [day, region, service, 'aws4_request'].reduce<Buffer | string>(hmac, `AWS4${secret}`);
  const signature = hmac(key, `AWS4-HMAC-SHA256\n${at}\n${scope}\n${sha256(canonical)}`).toString('hex');
  const authorization = `AWS4-HMAC-SHA256 Credential=${id}/${scope}, SignedHeaders=${names}, Signature=${signature}`;
  return { ...request, headers: { ...request.headers, 'x-amz-date': at, authorization } };
}

const sha256 = (data: string | Uint8Array): string => createHash('sha256').update(data).digest('hex');
const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();
