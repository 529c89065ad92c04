import type { HttpAnswer, HttpClient } from '../http/client.ts';
import { memberOf, parseJson, wordsIn } from '../json.ts';
import { createAssertions, GRANT_TYPE, type ServiceAccount } from './jwt.ts';

export type TokenState =
  | { readonly kind: 'valid'; readonly token: string }
  /** No answer yet, or the endpoint is away: nobody's fault. */
  | { readonly kind: 'missing'; readonly reason: string }
  /** The service account was refused: a person must act. */
  | { readonly kind: 'refused'; readonly reason: string };

export type TokenSource = {
  /** Fetches the first token, and keeps at it; each is replaced before it ends. */
  start(): void;
  state(): TokenState;
  /**
   * Says that `token` was answered 401, and resolves once there is another one or none. All that ask at the same time
   * wait for one request.
   */
  renew(token: string): Promise<TokenState>;
  stop(): void;
};

export type TokenOptions = {
  readonly account: ServiceAccount;
  readonly http: HttpClient;
  /** Called when the state is another one. */
  readonly changed: () => void;
  /** Wait after the endpoint did not answer; doubles to half a minute. */
  readonly retryMs: number;
  /** Wait after it refused the account. */
  readonly faultPauseMs: number;
};

/** A token is replaced this long before it ends. */
const MARGIN_MS = 60_000;
const LONGEST_RETRY_MS = 30_000;
/** Whatever the endpoint says: a timer of Node that is set for longer than 24 days fires at once. */
const LONGEST_LIFE_SECONDS = 86_400;
const MISSING: TokenState = { kind: 'missing', reason: 'No token yet' };

/** The access token of a service account (protocol sheet rcs, section 1). Throws as `createAssertions` does. */
export function createTokenSource(options: TokenOptions): TokenSource {
  const assertion = createAssertions(options.account);
  const { origin, pathname } = new URL(options.account.tokenUri);
  let state = MISSING;
  let expiresAt = 0;
  let failures = 0;
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  let underWay: Promise<void> | null = null;

  /** One request at a time, whoever asks. */
  function refresh(): Promise<void> {
    clearTimeout(timer);
    underWay ??= fetchToken().finally(() => {
      underWay = null;
    });
    return underWay;
  }

  async function fetchToken(): Promise<void> {
    const body = new URLSearchParams({ grant_type: GRANT_TYPE, assertion: assertion() }).toString();
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const grant = readGrant(await options.http.request({ method: 'POST', origin, path: pathname, headers, body }));
    if (stopped) return;
    if (grant.kind === 'valid') take(grant);
    else lose(grant);
    options.changed();
  }

  function take({ token, lifeMs }: Extract<Grant, { kind: 'valid' }>): void {
    state = { kind: 'valid', token };
    failures = 0;
    expiresAt = performance.now() + lifeMs;
    again(Math.max(lifeMs - MARGIN_MS, lifeMs / 2));
  }

  /** The token that is there stays until its end: the next one was asked for early enough. */
  function lose(grant: Exclude<Grant, { kind: 'valid' }>): void {
    if (state.kind !== 'valid' || performance.now() >= expiresAt) state = grant;
    failures += 1;
    const retryMs = Math.min(options.retryMs * 2 ** (failures - 1), LONGEST_RETRY_MS);
    again(grant.kind === 'refused' ? options.faultPauseMs : retryMs);
  }

  function again(afterMs: number): void {
    timer = setTimeout(() => void refresh(), afterMs);
  }

  async function renew(token: string): Promise<TokenState> {
    if (state.kind === 'valid' && state.token === token) {
      // A second one that asks for the same token waits for the same answer.
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
  | { readonly kind: 'valid'; readonly token: string; readonly lifeMs: number }
  | Exclude<TokenState, { kind: 'valid' }>;

function readGrant(answer: HttpAnswer): Grant {
  if (answer.kind === 'failed') return { kind: 'missing', reason: answer.reason };
  const json = parseJson(answer.body.toString());
  const token = wordsIn(json, 'access_token');
  const seconds = Number(memberOf(json, 'expires_in') ?? 0);
  if (answer.status === 200 && /^[\x21-\x7e]+$/.test(token) && seconds > 0) {
    return { kind: 'valid', token, lifeMs: Math.min(seconds, LONGEST_LIFE_SECONDS) * 1000 };
  }
  const reason = wordsIn(json, 'error_description') || wordsIn(json, 'error') || `HTTP ${answer.status}`;
  const refused = answer.status >= 400 && answer.status < 500 && answer.status !== 429 && answer.status !== 408;
  return { kind: refused ? 'refused' : 'missing', reason: reason.slice(0, 500) };
}
