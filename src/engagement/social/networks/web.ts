import { getMember, parseJson, getText } from '../../../carriers/json.ts';

/** How networks are reached: at their own addresses, or below another address that simulates all of them. */
export type Web = {
  /** Returns the address to which a request for an address of a network is sent. */
  at(address: string): string;
  /** Sends a request, which may take at most ten seconds; follows no redirect. Rejects with a NetworkFailure. */
  fetch(url: string, init: RequestInit): Promise<Response>;
};

const TIMEOUT_MS = 10_000;
const MAX_MESSAGE_LENGTH = 200;

/**
 * A network refused a request, or did not respond. The message is for people, and is that of the network if it sent
 * one. It never contains an address, because addresses contain tokens.
 */
export class NetworkFailure extends Error {
  /** The grant has ended: retrying cannot help, and the person must connect the profile again. */
  readonly grantEnded: boolean;

  constructor(message: string, { grantEnded }: { grantEnded: boolean }) {
    super(message);
    this.grantEnded = grantEnded;
  }
}

export const createWeb = ({ baseUrl }: { readonly baseUrl: string | undefined }): Web => ({
  at: (address) => (baseUrl === undefined ? address : `${baseUrl}/${address.replace(/^https:\/\//, '')}`),
  fetch: (url, init) =>
    fetch(url, { ...init, redirect: 'error', signal: AbortSignal.timeout(TIMEOUT_MS) }).catch(() => {
      throw new NetworkFailure('The network did not respond', { grantEnded: false });
    }),
});

type RequestOptions = {
  readonly method?: 'GET' | 'POST' | 'DELETE';
  readonly query?: Readonly<Record<string, string>>;
  readonly form?: Readonly<Record<string, string>>;
  readonly bearer?: string;
  readonly headers?: Readonly<Record<string, string>>;
};

/** Requests JSON from an address of a network. Rejects with a NetworkFailure unless the request succeeds. */
export async function requestJson(
  web: Web,
  address: string,
  { method, query, form, bearer, headers }: RequestOptions,
): Promise<unknown> {
  const url = new URL(web.at(address));
  for (const [name, value] of Object.entries(query ?? {})) url.searchParams.set(name, value);
  const authorization = bearer === undefined ? {} : { authorization: `Bearer ${bearer}` };
  const body = form === undefined ? null : new URLSearchParams(form);
  const init = { method: method ?? (form ? 'POST' : 'GET'), headers: { ...headers, ...authorization }, body };
  return readResponse(await web.fetch(url.href, init));
}

/**
 * Reads the JSON of a response. Networks report errors in four forms, TikTok even with 200. Rejects with a
 * NetworkFailure.
 */
export async function readResponse(response: Response): Promise<unknown> {
  const text = await response.text().catch(() => {
    throw new NetworkFailure('The response of the network was incomplete', { grantEnded: false });
  });
  const json = parseJson(withoutBigNumbers(text));
  const failure = failureIn(json);
  if (failure) throw failure;
  if (!response.ok)
    throw new NetworkFailure(messageOrStatus(json, response.status), { grantEnded: response.status === 401 });
  return json ?? {};
}

/** Puts long ids into quotes: those of Instagram are numbers that exceed the precision of JavaScript numbers. */
const withoutBigNumbers = (text: string): string => text.replace(/("(?:user_)?id"\s*:\s*)(\d{15,})/g, '$1"$2"');

const GRANT_ENDED_CODES = new Set(['invalid_grant', 'access_token_invalid', '190']);

function failureIn(json: unknown): NetworkFailure | undefined {
  const error = getMember(json, 'error');
  if (typeof error === 'string' && error !== '') {
    const message = sanitize(getText(json, 'error_description') || error);
    return new NetworkFailure(message, { grantEnded: GRANT_ENDED_CODES.has(error) });
  }
  const code = codeIn(error);
  if (code === '' || code === 'ok') return undefined;
  const status = getText(error, 'status');
  const grantEnded = GRANT_ENDED_CODES.has(code) || status === 'UNAUTHENTICATED';
  return new NetworkFailure(sanitize(getText(error, 'message') || code), { grantEnded });
}

function codeIn(error: unknown): string {
  const code = getMember(error, 'code');
  return typeof code === 'number' ? String(code) : getText(error, 'code');
}

const messageOrStatus = (json: unknown, status: number): string =>
  sanitize(getText(json, 'error_message') || getText(json, 'message') || `status ${status}`);

const sanitize = (text: string): string => text.replaceAll(/\p{Cc}/gu, ' ').slice(0, MAX_MESSAGE_LENGTH);
