import type { HttpAnswer, HttpClient } from '../http/client.ts';
import { getMember, parseJson, getText } from '../json.ts';
import { createAssertions, GRANT_TYPE, type ServiceAccount } from './jwt.ts';

/** State of the access token. */
export type TokenState =
  | { readonly kind: 'valid'; readonly token: string }
  /** There is no response yet, or the token endpoint is unreachable. */
  | { readonly kind: 'missing'; readonly reason: string }
  /** The service account was rejected: the operator must act. */
  | { readonly kind: 'refused'; readonly reason: string };

/** The access token of one service account; see `createTokenSource`. */
export type TokenSource = {
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

/** Dependencies of a token source. */
export type TokenOptions = {
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
