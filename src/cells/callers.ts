import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { hashOfKey } from '../../../identity/api-keys/key.ts';
import { hashOfToken } from '../../../identity/sessions/token.ts';
import { readCredentials } from '../../../platform/lib/credentials.ts';

/** Somebody of whom a cell has to say which account they belong to. */
export type Caller = {
  /** `hash`: of a key or a token, in hex; `user`: a username; `company`: a short name or a mail domain. */
  readonly kind: 'hash' | 'user' | 'company';
  readonly id: string;
};

/** Whom a request names: a caller, an account itself, or nobody that we know of. */
export type Named = Caller | { readonly kind: 'account'; readonly accountId: number } | { readonly kind: 'nobody' };

/** A request to the cells, as the proxy describes it. */
export type FrontRequest = {
  /** Path and query. */
  readonly uri: string;
  readonly protocol: string;
  readonly headers: IncomingHttpHeaders;
  /** The parsed body, of the routes with `needsBody` alone. */
  readonly body: unknown;
};

const NOBODY: Named = { kind: 'nobody' };
const API = '/api/partner-gateway/v1/';
/** Routes whose callers show what they have in the body. */
const WITH_BODY: ReadonlySet<string> = new Set(
  [
    'session',
    'session/second-factor',
    'session/passkey-options',
    'session/passkey',
    'session/single-sign-on',
    'password-reset',
    'password-reset/confirm',
    'invitations/open',
    'invitations/accept',
  ].map((path) => `${API}${path}`),
);

/** Whether the caller of this route is named by its body. */
export const needsBody = (uri: string): boolean => WITH_BODY.has(pathOf(uri));

/**
 * Reads whom a request names: in its body (signing in, links of mails), by a signed link, which names the account, by the
 * `state` with which another site sends a browser back, or by its credentials. Nothing is verified: that is up to the
 * cell, and somebody who names another account only gets a refusal from another cell.
 */
export function readCaller(request: FrontRequest): Named {
  const { uri, body } = request;
  return (
    (body === undefined ? undefined : namedByBody(body)) ??
    (uri.includes('?') ? namedByQuery(uri) : undefined) ??
    namedByCredentials(request)
  );
}

function namedByBody(body: unknown): Named | undefined {
  const [token, username, company] = [
    textIn(body, 'pendingToken') ?? textIn(body, 'token'),
    textIn(body, 'username'),
    textIn(body, 'company'),
  ];
  if (token !== undefined) return namedByHash(hashOfToken(token));
  if (username !== undefined) return { kind: 'user', id: username };
  if (company === undefined) return undefined;
  const name = company.trim().toLowerCase();
  return { kind: 'company', id: name.slice(name.lastIndexOf('@') + 1) };
}

function namedByQuery(uri: string): Named | undefined {
  const path = pathOf(uri);
  const query = new URLSearchParams(uri.slice(path.length));
  const [account, state] = [query.get('account'), query.get('state')];
  if (query.has('signature') && account !== null && /^[1-9]\d{0,14}$/.test(account))
    return { kind: 'account', accountId: Number(account) };
  // Signing in and connecting a profile: both keep the state as its hash.
  if (path.startsWith('/oauth/') && state !== null) return namedByHash(createHash('sha256').update(state).digest());
  return undefined;
}

function namedByCredentials({ protocol, headers }: FrontRequest): Named {
  const shown = readCredentials({ protocol, headers });
  if (shown.kind === 'key') return namedByHash(hashOfKey(shown.value));
  if (shown.kind === 'session') return namedByHash(hashOfToken(shown.token));
  return shown.kind === 'basic' && isName(shown.username) ? { kind: 'user', id: shown.username } : NOBODY;
}

const namedByHash = (hash: Buffer | undefined): Named =>
  hash === undefined ? NOBODY : { kind: 'hash', id: hash.toString('hex') };

/** Returns a short text of a body; a NUL would fail the query, and with it all others in the batch. */
function textIn(body: unknown, field: string): string | undefined {
  const value: unknown = typeof body === 'object' && body !== null ? Reflect.get(body, field) : undefined;
  return typeof value === 'string' && isName(value) ? value : undefined;
}

const isName = (text: string): boolean => text !== '' && text.length <= 300 && !text.includes('\0');

function pathOf(uri: string): string {
  const end = uri.indexOf('?');
  return end === -1 ? uri : uri.slice(0, end);
}
