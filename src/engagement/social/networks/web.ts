import { getMember, parseJson, getText } from '../../../carriers/json.ts';

/** How a network is reached: `https://host/path` itself, or below another address that stands for all of them. */
export type Web = {
  /** Where an address of a network is asked. */
  at(address: string): string;
  /** Sends as it is told, for at most ten seconds; follows no redirect. Rejects with a NetworkFailure. */
  fetch(url: string, init: RequestInit): Promise<Response>;
};

const TIMEOUT_MS = 10_000;
const MAX_MESSAGE_LENGTH = 200;

/**
 * A network refused or did not answer. The message is for people, in the network's words where it has any; it never
 * holds an address, since those hold tokens.
 */
export class NetworkFailure extends Error {
  /** The grant is over: asking again cannot help, the person has to connect again. */
  readonly over: boolean;

  constructor(message: string, { over: grantEnded }: { over: boolean }) {
    super(message);
    this.over = grantEnded;
  }
}

export const createWeb = ({ baseUrl }: { readonly baseUrl: string | undefined }): Web => ({
  at: (address) => (baseUrl === undefined ? address : `${baseUrl}/${address.replace(/^https:\/\//, '')}`),
  fetch: (url, init) =>
    fetch(url, { ...init, redirect: 'error', signal: AbortSignal.timeout(TIMEOUT_MS) }).catch(() => {
      throw new NetworkFailure('The network did not answer', { over: false });
    }),
});

type RequestOptions = {
  readonly method?: 'GET' | 'POST' | 'DELETE';
  readonly query?: Readonly<Record<string, string>>;
  readonly form?: Readonly<Record<string, string>>;
  readonly bearer?: string;
  readonly headers?: Readonly<Record<string, string>>;
};

/** Asks an address of a network for JSON. Rejects with a NetworkFailure for what is no success. */
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

/** The JSON of an answer. Networks tell of errors in four forms, TikTok with 200 too. */
export async function readResponse(response: Response): Promise<unknown> {
  const text = await response.text().catch(() => {
    throw new NetworkFailure('The network broke off its answer', { over: false });
  });
  const json = parseJson(withoutBigNumbers(text));
  const failure = failureIn(json);
  if (failure) throw failure;
  if (!response.ok) throw new NetworkFailure(messageOrStatus(json, response.status), { over: response.status === 401 });
  return json ?? {};
}

/** Ids of Instagram are numbers beyond what a number here can hold. */
const withoutBigNumbers = (text: string): string => text.replace(/("(?:user_)?id"\s*:\s*)(\d{15,})/g, '$1"$2"');

const GRANT_ENDED_CODES = new Set(['invalid_grant', 'access_token_invalid', '190']);

function failureIn(json: unknown): NetworkFailure | undefined {
  const error = getMember(json, 'error');
  if (typeof error === 'string' && error !== '') {
    const message = sanitize(getText(json, 'error_description') || error);
    return new NetworkFailure(message, { over: GRANT_ENDED_CODES.has(error) });
  }
  const code = codeIn(error);
  if (code === '' || code === 'ok') return undefined;
  const status = getText(error, 'status');
  const over = GRANT_ENDED_CODES.has(code) || status === 'UNAUTHENTICATED';
  return new NetworkFailure(sanitize(getText(error, 'message') || code), { over });
}

function codeIn(error: unknown): string {
  const code = getMember(error, 'code');
  return typeof code === 'number' ? String(code) : getText(error, 'code');
}

const messageOrStatus = (json: unknown, status: number): string =>
  sanitize(getText(json, 'error_message') || getText(json, 'message') || `status ${status}`);

const sanitize = (words: string): string => words.replaceAll(/\p{Cc}/gu, ' ').slice(0, MAX_MESSAGE_LENGTH);
