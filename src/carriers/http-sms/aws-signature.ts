import { createHash, createHmac } from 'node:crypto';
import type { HttpRequest } from '../http/client.ts';

/** The credentials of an AWS user: the access key id and its secret. */
export type AwsKey = { readonly id: string; readonly secret: string };

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
