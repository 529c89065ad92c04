import createClient from 'openapi-fetch';
import type { paths } from '../../../client/src/schema.d.ts';
import { send } from './connection/send.ts';
import { readProblem } from './errors.ts';
import { proofFor, userProves } from './proof.ts';

/** The paths of the API, for the types of requests. */
export type { paths as Paths };

const SAFE = ['GET', 'HEAD'];

/**
 * Like `send`, but when the session has ended, or must prove that its user is present, the user is asked over the page,
 * and then the request is sent again. If the user declines, the first response counts.
 */
async function fetchWithProof(request: Request): Promise<Response> {
  const again = isSignIn(request) ? null : request.clone();
  const response = await send(request);
  if (again === null || (response.status !== 401 && response.status !== 403)) return response;
  const body: unknown = await response
    .clone()
    .json()
    .catch(() => null);
  const proof = proofFor(readProblem(response, body));
  return proof !== null && (await userProves(proof)) ? send(again) : response;
}

const SESSION = '/api/partner-gateway/v1/session';
const SIGN_IN = [SESSION, `${SESSION}/second-factor`, `${SESSION}/passkey-options`, `${SESSION}/passkey`];

/** Returns true if a request signs in or out: asking for a sign-in there would go in circles. */
const isSignIn = ({ url, method }: Request): boolean => method !== 'GET' && SIGN_IN.includes(new URL(url).pathname);

/** Matches requests before a sign-in, for which the server keeps no keys: they must not be repeated. */
const WITHOUT_ACCOUNT = /\/v1\/(session|password-reset|invitations\/(open|accept))(\/|$)/;

/**
 * The client of the public API, typed by docs/openapi.json: `ok(api.GET(path, { params: { path, query }, signal }))`.
 * Changing requests carry the console's header, which proves to the server that no other site sent them, and each
 * POST has its own Idempotency-Key.
 */
export const api = createClient<paths>({ fetch: fetchWithProof, credentials: 'same-origin' });

api.use({
  onRequest({ request }) {
    for (const [name, value] of Object.entries(mutationHeaders(request.method))) {
      if (!request.headers.has(name)) request.headers.set(name, value);
    }
    if (WITHOUT_ACCOUNT.test(new URL(request.url).pathname)) request.headers.delete('idempotency-key');
  },
});

/** The headers that a changing request needs, for uploads and other requests that are not made through `api`. */
export function mutationHeaders(method: string): Readonly<Record<string, string>> {
  if (SAFE.includes(method)) return {};
  const key: Record<string, string> = method === 'POST' ? { 'idempotency-key': crypto.randomUUID() } : {};
  return { 'x-heliograph-console': '1', ...key };
}

type Answer<D> = { readonly data?: D; readonly error?: unknown; readonly response: Response };

/** Resolves with the body of a 2xx response (undefined if it has none); rejects with an ApiError otherwise. */
export async function ok<D>(asking: Promise<Answer<D>>): Promise<D> {
  const { data, error, response } = await asking;
  if (!response.ok) throw readProblem(response, error);
  // If the response has no body, its type has none either.
  return data as D;
}
