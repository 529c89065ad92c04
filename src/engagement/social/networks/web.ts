import { getMember, parseJson, getText } from '../../../carriers/json.ts';
import type { SimulatedNetwork } from '../../../platform/config.ts';
import { USER_AGENT } from '../../../platform/lib/user-agent.ts';

/** Web access to a network: at its own addresses, or below those of its simulator. */
export type Web = {
  /** Returns the address to which a request for an address of the network is sent. */
  at(address: string): string;
  /** Returns the address of a page of the network, for the browser of a person. */
  pageAt(address: string): string;
  /** Sends a request, which may take at most ten seconds; follows no redirect. Rejects with a NetworkFailure. */
  fetch(url: string, init: RequestInit): Promise<Response>;
};

const TIMEOUT_MS = 10_000;
const MAX_MESSAGE_LENGTH = 300;

/**
 * A network rejected a request, or did not respond. The message is for people, and is that of the network if it sent
 * one, with its code. It contains no token, and no address that the program requested, because those contain tokens.
 */
export class NetworkFailure extends Error {
  /** True if the grant has ended: retrying cannot help, and the person must connect the profile again. */
  readonly grantEnded: boolean;

  constructor(message: string, { grantEnded }: { grantEnded: boolean }) {
    super(message);
    this.grantEnded = grantEnded;
  }
}

/** Reaches a network, or its simulator if it has one. */
export const createWeb = (simulated: SimulatedNetwork | null): Web => ({
  at: (address) => (simulated === null ? address : below(simulated.apiUrl, address)),
  pageAt: (address) => (simulated === null ? address : below(simulated.pagesUrl, address)),
  fetch(url, init) {
    // The OAuth library sets its own User-Agent.
    const headers = new Headers(init.headers);
    headers.set('user-agent', USER_AGENT);
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    return fetch(url, { ...init, headers, redirect: 'error', signal }).catch(() => {
      throw new NetworkFailure('The network did not respond', { grantEnded: false });
    });
  },
});

const below = (url: string, address: string): string => `${url}/${address.replace(/^https:\/\//, '')}`;

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
    const message = toWords(getText(json, 'error_description'), error);
    return new NetworkFailure(message, { grantEnded: GRANT_ENDED_CODES.has(error) });
  }
  const code = codeIn(error);
  if (code === '' || code === 'ok') return undefined;
  const status = getText(error, 'status');
  const grantEnded = GRANT_ENDED_CODES.has(code) || status === 'UNAUTHENTICATED';
  return new NetworkFailure(toWords(getText(error, 'message'), code), { grantEnded });
}

function codeIn(error: unknown): string {
  const code = getMember(error, 'code');
  return typeof code === 'number' ? String(code) : getText(error, 'code');
}

const messageOrStatus = (json: unknown, status: number): string =>
  toWords(getText(json, 'error_message') || getText(json, 'message'), getText(json, 'code') || `status ${status}`);

/**
 * Makes one line of a network's message and its code, of at most 300 characters. Anything that looks like a token is
 * omitted: networks repeat what they were sent.
 */
export function toWords(message: string, code: string): string {
  const both = message === '' || message === code ? code : code === '' ? message : `${message} (${code})`;
  const line = both
    .replaceAll(/[\p{Cc}\p{Bidi_Control}]/gu, ' ')
    .replaceAll(/[\w.~+-]{40,}/g, '…')
    .trim();
  return line.length <= MAX_MESSAGE_LENGTH ? line : `${line.slice(0, MAX_MESSAGE_LENGTH - 1).toWellFormed()}…`;
}
