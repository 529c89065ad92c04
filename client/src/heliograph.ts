import createClient from 'openapi-fetch';
import type { Call, Method, Optional } from './calls.ts';
import { createExchange } from './exchange.ts';
import { type Item, type PagedPath, type PageInit, walk } from './pages.ts';

type Credentials = { readonly apiKey: string } | { readonly username: string; readonly password: string };

export type HeliographOptions = Credentials & {
  /** Where Heliograph listens, without a path: `https://sms.example.com`. */
  readonly baseUrl: string;
  /** How long one try may take (default 30,000). Large uploads need more. */
  readonly timeoutMs?: number;
  /** Tries beyond the first (default 4; 0 for none). */
  readonly retries?: number;
  /** In place of the global one. Called once for each try. */
  readonly fetch?: (input: Request) => Promise<Response>;
};

export type Heliograph = {
  readonly get: Call<'get'>;
  readonly put: Call<'put'>;
  readonly post: Call<'post'>;
  readonly patch: Call<'patch'>;
  readonly delete: Call<'delete'>;
  /** Every item of a list. What is added or removed meanwhile may be missed or seen twice. */
  each<P extends PagedPath>(path: P, ...init: Optional<PageInit<P>>): AsyncGenerator<Item<P>, void, undefined>;
  /** The same, a page at a time; an empty list has none. */
  pages<P extends PagedPath>(path: P, ...init: Optional<PageInit<P>>): AsyncGenerator<Item<P>[], void, undefined>;
};

/**
 * A client of one account. Every POST and PUT carries an Idempotency-Key, your own in `headers` or a fresh one, and is tried
 * again under it after 429, 503 and lost connections: its work is done once. Failures are HeliographErrors.
 */
export function createHeliograph(options: HeliographOptions): Heliograph {
  const { baseUrl, timeoutMs = 30_000, retries = 4, fetch = (request) => globalThis.fetch(request) } = options;
  const client = createClient<Record<string, Record<Method, object>>>({
    baseUrl,
    headers: credentialsOf(options),
    bodySerializer,
    fetch: createExchange({ fetch, timeoutMs, retries }),
  });
  const ask = async (method: Method, path: string, init?: object): Promise<unknown> =>
    (await client.request(method, path, { ...init })).data;
  // The one place where the types of the schema meet a request without any.
  const call = <M extends Method>(method: M) => ((path, init) => ask(method, path, init)) as Call<M>;
  const pages = <P extends PagedPath>(path: P, ...[init]: Optional<PageInit<P>>) =>
    walk((page) => ask('get', path, page), init) as AsyncGenerator<Item<P>[], void, undefined>;
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
  const octets = new TextEncoder().encode(`${credentials.username}:${credentials.password}`);
  return { authorization: `Basic ${btoa(String.fromCodePoint(...octets))}` };
}

/** JSON, and a form where there is a file among the values. */
function bodySerializer(body: unknown): string | FormData {
  if (body instanceof FormData) return body;
  const fields = typeof body === 'object' && body !== null ? Object.entries(body) : [];
  return fields.some(([, value]) => value instanceof Blob) ? formOf(fields) : JSON.stringify(body);
}

function formOf(fields: readonly [string, unknown][]): FormData {
  const form = new FormData();
  // What is streamed as it comes is read in order: the file comes after what is said about it.
  for (const [name, value] of fields)
    if (!(value instanceof Blob) && value !== undefined)
      form.append(name, typeof value === 'string' ? value : JSON.stringify(value));
  for (const [name, value] of fields) if (value instanceof Blob) form.append(name, value);
  return form;
}
