import { parseBaseUrl } from '../http/base-url.ts';
import type { HttpRequest } from '../http/client.ts';
import { signForAws } from './aws-signature.ts';
import { HEADER_VALUE, isFields, isOfConnection } from './check.ts';
import type { Request } from './protocol.ts';
import type { HttpSmsSecrets, Resolved } from './settings.ts';
import { compileFields, compileJson, compileText, type Values, variablesIn } from './template.ts';

/** Creates requests to a carrier from the variables of messages. */
export type Requests = {
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
