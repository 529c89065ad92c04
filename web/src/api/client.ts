import createClient from 'openapi-fetch';
import type { paths } from '../../../client/src/schema.d.ts';
import { ApiError, readProblem } from './errors.ts';

/** The interface by its paths: for the types of what a request takes. */
export type { paths as Paths };

const SAFE = ['GET', 'HEAD'];

/**
 * As the browser does it, but that a POST whose connection was lost is sent once more: with the same Idempotency-Key,
 * so that what it asks for happens once. Rejects with an ApiError of status 0 when the server cannot be reached.
 */
async function fetchTwice(request: Request): Promise<Response> {
  const again = request.headers.has('idempotency-key') ? request.clone() : null;
  try {
    return await fetch(request);
  } catch (cause) {
    if (request.signal.aborted) throw cause;
    if (again) return fetch(again).catch(() => Promise.reject(unreachable(cause)));
    throw unreachable(cause);
  }
}

const unreachable = (cause: unknown): ApiError => new ApiError({ status: 0, message: '', cause });

/**
 * The public interface, typed by docs/openapi.json: `ok(api.GET(path, { params: { path, query }, signal }))`. Changes
 * carry the console's header (the server's proof that no other site sent them) and each POST a key of its own.
 */
export const api = createClient<paths>({ fetch: fetchTwice, credentials: 'same-origin' });

api.use({
  onRequest({ request }) {
    for (const [name, value] of Object.entries(changeHeaders(request.method))) {
      if (!request.headers.has(name)) request.headers.set(name, value);
    }
  },
});

/** What a request that changes something carries besides; for uploads and other requests that `api` does not make. */
export function changeHeaders(method: string): Readonly<Record<string, string>> {
  if (SAFE.includes(method)) return {};
  const key: Record<string, string> = method === 'POST' ? { 'idempotency-key': crypto.randomUUID() } : {};
  return { 'x-heliograph-console': '1', ...key };
}

type Answer<D> = { readonly data?: D; readonly error?: unknown; readonly response: Response };

/** The body of an answer of 2xx (undefined where it has none); rejects with an ApiError otherwise. */
export async function ok<D>(asking: Promise<Answer<D>>): Promise<D> {
  const { data, error, response } = await asking;
  if (!response.ok) throw readProblem(response, error);
  // An answer without a body has none by its type either.
  return data as D;
}
