import { createPrivateKey, type KeyObject, sign } from 'node:crypto';
import type { SignToPerson, Submission } from '../carrier.ts';
import { createHttpClient, type HttpAnswer, type HttpClient, parseBaseUrl, retryAfterMs } from '../http-client.ts';
import { getMember, getText, parseJson } from '../settings.ts';
import type { RcsSettings } from './settings.ts';

type RbmRequest = {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** The path after the version, with its query. */
  readonly path: string;
  readonly body?: string;
};

/** A client of the RBM API with an access token. */
export type RbmClient = {
  /**
   * Sends a request with the access token, and once more with a fresh token after a 401. Resolves with `failed` and not
   * written while there is no token; never rejects.
   */
  call(request: RbmRequest): Promise<HttpAnswer>;
};

/** Creates the HTTP client of one carrier, for the API and for the token endpoint. */
export function createConnections(settings: RcsSettings): HttpClient {
  return createHttpClient({
    connections: settings.concurrency + settings.capabilityConcurrency,
    connectTimeoutMs: settings.connectTimeoutSeconds * 1000,
    timeoutMs: settings.requestTimeoutSeconds * 1000,
  });
}

/** Creates a client of the API at `baseUrl`. */
export function createRbmClient(settings: RcsSettings, http: HttpClient, tokens: TokenSource): RbmClient {
  const { origin, prefix } = parseBaseUrl('baseUrl', settings.baseUrl);

  function ask({ path, ...request }: RbmRequest, token: string): Promise<HttpAnswer> {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    return http.request({ ...request, origin, path: `${prefix}/v1${path}`, headers });
  }

  async function call(request: RbmRequest): Promise<HttpAnswer> {
    const first = tokens.state();
    if (first.kind !== 'valid') return noToken(first.reason);
    const answer = await ask(request, first.token);
    if (answer.kind === 'failed' || answer.status !== 401) return answer;
    const second = await tokens.renew(first.token);
    return second.kind === 'valid' ? ask(request, second.token) : noToken(second.reason);
  }

  return { call };
}

const noToken = (reason: string): HttpAnswer => ({ kind: 'failed', written: false, reason: `No token: ${reason}` });

type Addressed = Pick<Submission, 'messageId' | 'sender' | 'destination'>;

const phonePath = (destination: string): string => `/phones/${encodeURIComponent(destination)}`;

/** Returns the path that creates a message under our id. */
export const messagesPath = ({ messageId, sender, destination }: Addressed): string =>
  `${phonePath(destination)}/agentMessages?messageId=${messageId}&agentId=${encodeURIComponent(sender)}`;

/** Returns the path of one message, which revokes it on DELETE. */
export const messagePath = ({ messageId, sender, destination }: Addressed): string =>
  `${phonePath(destination)}/agentMessages/${messageId}?agentId=${encodeURIComponent(sender)}`;

/** Returns the path that shows the sender of a message an event (RBM API, agentEvents). */
export const eventsPath = ({ sender, destination }: SignToPerson, eventId: string): string =>
  `${phonePath(destination)}/agentEvents?eventId=${eventId}&agentId=${encodeURIComponent(sender)}`;

/** Makes the event that a message was read, or that a reply is being written. */
export const eventOf = ({ kind, networkId }: SignToPerson): string =>
  JSON.stringify(kind === 'read' ? { eventType: 'READ', messageId: networkId } : { eventType: 'IS_TYPING' });

/** Returns the path that checks one number. */
export const capabilitiesPath = (sender: string, destination: string, requestId: string): string =>
  `${phonePath(destination)}/capabilities?requestId=${requestId}&agentId=${encodeURIComponent(sender)}`;

type TokenState =
  | { readonly kind: 'valid'; readonly token: string }
  /** There is no response yet, or the token endpoint is unreachable. */
  | { readonly kind: 'missing'; readonly reason: string }
  /** The service account was rejected: the operator must act. */
  | { readonly kind: 'refused'; readonly reason: string };

/** The access token of one service account; see `createTokenSource`. */
type TokenSource = {
  /** Fetches the first token, and replaces each one before it expires. */
  start(): void;
  /** Returns the current token, or the reason for its absence. */
  state(): TokenState;
  /**
   * Discards `token`, for which the API returned 401, and resolves once there is another one or none. Concurrent calls
   * share one request.
   */
  renew(token: string): Promise<TokenState>;
  stop(): void;
};

type TokenOptions = {
  readonly account: ServiceAccount;
  readonly http: HttpClient;
  /** Called after every request for a token. */
  readonly changed: () => void;
  /** The delay after the endpoint did not respond; doubles up to 30 s. */
  readonly retryMs: number;
  /** The delay after the endpoint rejected the account. */
  readonly faultPauseMs: number;
};

/** A token is replaced this long before it expires. */
const MARGIN_MS = 60_000;
const MAX_RETRY_MS = 30_000;
/** The limit for the lifetime in the endpoint's response: a Node timer of more than 24 days fires immediately. */
const MAX_LIFETIME_SECONDS = 86_400;
const MISSING: TokenState = { kind: 'missing', reason: 'No token yet' };

/**
 * Creates the source of a service account's access tokens (RBM API, authorization). Throws an Error that names
 * `privateKey` if it is not a private RSA key.
 */
export function createTokenSource(options: TokenOptions): TokenSource {
  const assertion = createAssertions(options.account);
  const { origin, pathname } = new URL(options.account.tokenUri);
  let state = MISSING;
  let expiresAt = 0;
  let failures = 0;
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  let inFlight: Promise<void> | null = null;

  /** Fetches a token; concurrent calls share one request. */
  function refresh(): Promise<void> {
    clearTimeout(timer);
    inFlight ??= fetchToken().finally(() => {
      inFlight = null;
    });
    return inFlight;
  }

  async function fetchToken(): Promise<void> {
    const body = new URLSearchParams({ grant_type: GRANT_TYPE, assertion: assertion() }).toString();
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const grant = readGrant(await options.http.request({ method: 'POST', origin, path: pathname, headers, body }));
    if (stopped) return;
    if (grant.kind === 'valid') useGrant(grant);
    else handleFailure(grant);
    options.changed();
  }

  function useGrant({ token, lifetimeMs }: Extract<Grant, { kind: 'valid' }>): void {
    state = { kind: 'valid', token };
    failures = 0;
    expiresAt = performance.now() + lifetimeMs;
    scheduleRefresh(Math.max(lifetimeMs - MARGIN_MS, lifetimeMs / 2));
  }

  /** Keeps a valid token until it expires: its replacement was requested early enough. */
  function handleFailure(grant: Exclude<Grant, { kind: 'valid' }>): void {
    if (state.kind !== 'valid' || performance.now() >= expiresAt) state = grant;
    failures += 1;
    const retryMs = Math.min(options.retryMs * 2 ** (failures - 1), MAX_RETRY_MS);
    scheduleRefresh(grant.kind === 'refused' ? options.faultPauseMs : retryMs);
  }

  function scheduleRefresh(afterMs: number): void {
    timer = setTimeout(() => void refresh(), afterMs);
  }

  async function renew(token: string): Promise<TokenState> {
    if (state.kind === 'valid' && state.token === token) {
      // A second call for the same token waits for the same response.
      expiresAt = 0;
      await refresh();
    }
    return state;
  }

  return {
    start: () => void refresh(),
    state: () => state,
    renew,
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}

type Grant =
  | { readonly kind: 'valid'; readonly token: string; readonly lifetimeMs: number }
  | Exclude<TokenState, { kind: 'valid' }>;

function readGrant(answer: HttpAnswer): Grant {
  if (answer.kind === 'failed') return { kind: 'missing', reason: answer.reason };
  const json = parseJson(answer.body.toString());
  const token = getText(json, 'access_token');
  const seconds = Number(getMember(json, 'expires_in') ?? 0);
  if (answer.status === 200 && /^[\x21-\x7e]+$/.test(token) && seconds > 0) {
    return { kind: 'valid', token, lifetimeMs: Math.min(seconds, MAX_LIFETIME_SECONDS) * 1000 };
  }
  const reason = getText(json, 'error_description') || getText(json, 'error') || `HTTP ${answer.status}`;
  const refused = answer.status >= 400 && answer.status < 500 && answer.status !== 429 && answer.status !== 408;
  return { kind: refused ? 'refused' : 'missing', reason: reason.slice(0, 500) };
}

/** The OAuth scope of the RBM API. */
export const SCOPE = 'https://www.googleapis.com/auth/rcsbusinessmessaging';
/** The OAuth grant type of a signed assertion. */
export const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
/** The longest lifetime that the network accepts. */
const LIFETIME_SECONDS = 3600;

type ServiceAccount = {
  readonly clientEmail: string;
  /** An RSA key in PEM. */
  readonly privateKey: string;
  /** Empty if it is not known: the network then tries all keys of the account. */
  readonly privateKeyId: string;
  readonly tokenUri: string;
};

/**
 * Creates a function that returns a fresh assertion for the service account: a JWT signed with RS256 and valid for one
 * hour. Throws an Error that names `privateKey` if it is not a private RSA key.
 */
export function createAssertions(account: ServiceAccount): (now?: number) => string {
  const key = readKey(account.privateKey);
  const { privateKeyId: kid } = account;
  const header = encode({ alg: 'RS256', typ: 'JWT', ...(kid !== '' && { kid }) });
  return (now = Date.now()) => {
    const iat = Math.floor(now / 1000);
    const claims = { iss: account.clientEmail, scope: SCOPE, aud: account.tokenUri, iat, exp: iat + LIFETIME_SECONDS };
    const signed = `${header}.${encode(claims)}`;
    return `${signed}.${sign('RSA-SHA256', Buffer.from(signed), key).toString('base64url')}`;
  };
}

function readKey(pem: string): KeyObject {
  try {
    const key = createPrivateKey(pem);
    if (key.asymmetricKeyType === 'rsa') return key;
  } catch {
    // OpenSSL's message might quote the key.
  }
  throw new Error('privateKey: must be an RSA private key in PEM');
}

const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url');

type ErrorDetails = {
  /** Google's name of the error, or `HTTP_` followed by the status. */
  readonly code: string;
  readonly text: string;
};

/** Action required by the response to a message (RBM API, errors). */
export type Verdict =
  /** The message was accepted, now or earlier under the same id. */
  | { readonly act: 'accepted' }
  /** The message will never be accepted. `account` is true if the reason is our agent or account, not the message. */
  | ({ readonly act: 'refuse'; readonly status: 'ERROR' | 'UNSUPPORTED'; readonly account: boolean } & ErrorDetails)
  /** The token was rejected, and so was a fresh one. */
  | ({ readonly act: 'token' } & ErrorDetails)
  /** The agent has sent too many messages: it must slow down, or wait for `minPauseMs` if that is not 0. */
  | ({ readonly act: 'throttled'; readonly minPauseMs: number } & ErrorDetails)
  /** All messages must wait for at least `minPauseMs`. */
  | ({ readonly act: 'busy'; readonly minPauseMs: number } & ErrorDetails)
  /** Delays this message only. */
  | ({ readonly act: 'later' } & ErrorDetails)
  /** There was no response; `written` as in `HttpAnswer`. */
  | ({ readonly act: 'no-answer'; readonly written: boolean } & ErrorDetails);

/** Classifies the response to a message. */
export function verdictOf(answer: HttpAnswer): Verdict {
  if (answer.kind === 'failed') {
    const { written, reason } = answer;
    return { act: 'no-answer', written, code: written ? 'NO_ANSWER' : 'NOT_SENT', text: reason };
  }
  const { status } = answer;
  // A used id is ignored with 200; a 409 has never been observed, but could only mean the same.
  if (status === 200 || status === 409) return { act: 'accepted' };
  return refusal(status, readErrorDetails(answer), retryAfterMs(answer.headers));
}

function refusal(status: number, details: ErrorDetails, minPauseMs: number): Verdict {
  switch (status) {
    case 401:
      return { act: 'token', ...details };
    case 403:
      return { act: 'refuse', status: 'ERROR', account: true, ...details };
    case 404:
      return { act: 'refuse', status: 'UNSUPPORTED', account: false, ...details };
    case 429:
      return { act: 'throttled', minPauseMs, ...details };
    case 503:
      return { act: 'busy', minPauseMs, ...details };
    default:
      // A redirect or a proxy's own error reveals nothing about the message.
      if (status < 400 || status === 408 || status >= 500) return { act: 'later', ...details };
      return { act: 'refuse', status: lacksFeature(details) ? 'UNSUPPORTED' : 'ERROR', account: false, ...details };
  }
}

/** A missing handset feature leads to INVALID_ARGUMENT like a mistake in the message; only the text differs. */
const lacksFeature = ({ text }: ErrorDetails): boolean =>
  /\b(not|n't) support|\bunsupported\b|\bcapabilit|\black(s|ing)? (the )?(feature|support)/i.test(text);

const MAX_TEXT_LENGTH = 1000;

function readErrorDetails({ status, body }: Extract<HttpAnswer, { kind: 'answered' }>): ErrorDetails {
  const error = getMember(parseJson(body.toString()), 'error');
  const text = getText(error, 'message').slice(0, MAX_TEXT_LENGTH);
  return { code: getText(error, 'status').slice(0, 100) || `HTTP_${status}`, text: text || `HTTP ${status}` };
}
