import type { IncomingHttpHeaders } from 'node:http';
import type { Channel } from './channel.ts';
import type { NumberRules } from './phone/number-rules.ts';
import type { Plan } from './plan.ts';
import type { Role, Scope } from './scope.ts';

/** Methods by which a user can sign in. */
export const SIGN_IN_METHODS = ['password', 'totp', 'recovery-code', 'passkey', 'single-sign-on'] as const;
export type SignInMethod = (typeof SIGN_IN_METHODS)[number];

/** The session of a signed-in user in the user's own account, even while the session looks at another account. */
export type Session = {
  readonly id: number;
  readonly accountId: number;
  readonly userId: number;
  readonly username: string;
  readonly role: Role;
  readonly createdAt: Date;
  /** The latest possible end; the session ends earlier when idle. */
  readonly expiresAt: Date;
  readonly method: SignInMethod;
  /** True if the user has shown a password or a second factor within the last ten minutes. */
  readonly isProven: boolean;
  /** True if the session may do nothing but add the second factor that its account requires. */
  readonly mustEnrol: boolean;
};

/**
 * The caller: one API key or one user, always acting in exactly one account. Every operation takes an actor and reaches
 * rows only through its account. The kind `operator` is an operator of the gateway looking at another account.
 */
export type Actor = {
  readonly kind: 'key' | 'user' | 'operator';
  readonly accountId: number;
  /** Null unless the caller is a key. */
  readonly keyId: number | null;
  /** The user, or the user who created the key; null for an operator, and for a key created by an operator. */
  readonly userId: number | null;
  readonly username: string | null;
  readonly role: Role;
  /** The scopes of this caller; checked by `requireScope`. */
  readonly operations: ReadonlySet<Scope>;
  readonly plan: Plan;
  /** The channels in the account's plan; checked by `requireScope`. */
  readonly channels: ReadonlySet<Channel>;
  /**
   * False if no recipient ever opted out of this account's messages, so that sends need not check; undefined if
   * unknown.
   */
  readonly hasOptOuts?: boolean;
  /** Rules for reading phone numbers in the caller's requests. */
  readonly numberRules: NumberRules;
  /** True if the caller is a user who may manage all accounts; checked by `requireOperator`. Never true for a key. */
  readonly isOperator?: boolean;
  /** Absent when the caller authenticates with a key or a password. */
  readonly session?: Session;
};

/** The parts of a request that authentication needs; a Fastify request has them. */
export type AuthRequest = {
  readonly headers: IncomingHttpHeaders;
  /** The client's address as seen by the trusted proxies; not yet canonical (src/platform/lib/address.ts). */
  readonly ip: string;
  /** `http` or `https`, as seen by the trusted proxies. */
  readonly protocol: string;
};

/** The authenticated caller, and the rate-limit headers of the response. */
export type Authenticated = { readonly actor: Actor; readonly headers: Readonly<Record<string, string>> };

/**
 * Authenticates a request. Rejects with AppError `unauthenticated` (401; missing, wrong, revoked and expired
 * credentials get the same response), `forbidden` (403: the account is suspended, or the address is not on its
 * allow-list), `rate_limited` (429: too many requests, or too many failed attempts) or `unavailable` (503).
 */
export type Authenticate = (call: AuthRequest) => Promise<Authenticated>;

/**
 * Authenticates by username and password, with the same limits and errors as `Authenticate`. `passwordHash` is the
 * stored hash that the password matched, so that a later write can fail if the password was changed in the meantime.
 * The password alone does not sign in a user who has a second factor.
 */
export type CheckPassword = (
  shown: { readonly username: string; readonly password: string },
  ip: string,
) => Promise<Authenticated & { readonly passwordHash: string; readonly hasSecondFactor: boolean }>;

/** The limits of signing in beyond the password. */
export type SignInLimits = {
  /**
   * Runs a check of a user's credentials, and counts a failure if it returns null. Rejects with 429, without running
   * it, if the guesses from this address are used up, and with 401 if it returns null.
   */
  guess<T>(username: string, ip: string, check: () => Promise<T | null>): Promise<T>;
  /**
   * Counts the start of a sign-in with a passkey: of an unknown client by address, of a user who has shown the password
   * by the hash of the pending token, so that others behind the same address are not in the way. Throws 429 beyond the
   * limit.
   */
  begin(whose: { readonly ip: string } | { readonly pending: Buffer }): void;
  /** Counts a failure of an unknown client, and returns its error: 401, or 429 beyond the limit. */
  failed(ip: string): Error;
  /** Records the address from which a user has signed in, so that others do not use up the guesses from there. */
  succeeded(userId: number, ip: string): Promise<void>;
};
