import createClient from 'openapi-fetch';
import type { Call, Method, Optional } from './calls.ts';
import { createExchange } from './exchange.ts';
import { type Item, type PagedPath, type PageInit, listPages } from './pages.ts';

type Credentials = { readonly apiKey: string } | { readonly username: string; readonly password: string };

export type HeliographOptions = Credentials & {
  /** The origin of Heliograph, without a path: `https://sms.example.com`. */
  readonly baseUrl: string;
  /** The time limit for one attempt (default 30,000). Large uploads need more. */
  readonly timeoutMs?: number;
  /** Attempts after the first (default 4; 0 for none). */
  readonly retries?: number;
  /** A replacement for the global `fetch`, called once for each attempt. */
  readonly fetch?: (input: Request) => Promise<Response>;
};

/** A client of one account: a method for each HTTP method, and generators for lists. */
export type Heliograph = {
  readonly get: Call<'get'>;
  readonly put: Call<'put'>;
  readonly post: Call<'post'>;
  readonly patch: Call<'patch'>;
  readonly delete: Call<'delete'>;
  /** Yields every item of a list. Items added or removed meanwhile may be missed or yielded twice. */
  each<P extends PagedPath>(path: P, ...init: Optional<PageInit<P>>): AsyncGenerator<Item<P>, void, undefined>;
  /** Yields the items of a list page by page; nothing for an empty list. */
  pages<P extends PagedPath>(path: P, ...init: Optional<PageInit<P>>): AsyncGenerator<Item<P>[], void, undefined>;
};

/**
 * Creates a client of one account. Every POST and PUT has an Idempotency-Key, your own in `headers` or a random one,
 * and is retried with it after 429, 503 and lost connections: its work is done once. Failures are HeliographErrors.
 */
export function createHeliograph(options: HeliographOptions): Heliograph {
  const { baseUrl, timeoutMs = 30_000, retries = 4, fetch = (request) => globalThis.fetch(request) } = options;
  const client = createClient<Record<string, Record<Method, object>>>({
    baseUrl,
    headers: credentialsOf(options),
    bodySerializer,
    fetch: createExchange({ fetch, timeoutMs, retries }),
  });
  const request = async (method: Method, path: string, init?: object): Promise<unknown> =>
    (await client.request(method, path, { ...init })).data;
  // The only place where the types of the schema meet an untyped request.
  const call = <M extends Method>(method: M) => ((path, init) => request(method, path, init)) as Call<M>;
  const pages = <P extends PagedPath>(path: P, ...[init]: Optional<PageInit<P>>) =>
    listPages((page) => request('get', path, page), init) as AsyncGenerator<Item<P>[], void, undefined>;
  return {
    get: call('get'),
    put: call('put'),
    post: call('post'),
    patch: call('patch'),
    delete: call('delete'),
    pages,
    async *each(path, ...init) {
      for await (const items of pages(path, ...init)) yield* items;
    },
  };
}

function credentialsOf(credentials: Credentials): Record<string, string> {
  if ('apiKey' in credentials) return { 'x-api-key': credentials.apiKey };
  const bytes = new TextEncoder().encode(`${credentials.username}:${credentials.password}`);
  return { authorization: `Basic ${btoa(String.fromCodePoint(...bytes))}` };
}

/** Serializes a body as JSON, or as a form if one of its values is a file. */
function bodySerializer(body: unknown): string | FormData {
  if (body instanceof FormData) return body;
  const fields = typeof body === 'object' && body !== null ? Object.entries(body) : [];
  return fields.some(([, value]) => value instanceof Blob) ? formOf(fields) : JSON.stringify(body);
}

function formOf(fields: readonly [string, unknown][]): FormData {
  const form = new FormData();
  // The server reads a form as a stream, so the file comes after the other fields.
  for (const [name, value] of fields)
    if (!(value instanceof Blob) && value !== undefined)
      form.append(name, typeof value === 'string' ? value : JSON.stringify(value));
  for (const [name, value] of fields) if (value instanceof Blob) form.append(name, value);
  return form;
}
