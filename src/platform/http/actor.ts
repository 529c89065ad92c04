import type { IncomingHttpHeaders } from 'node:http';
import type { Channel } from '../lib/channel.ts';
import type { Plan } from '../lib/plan.ts';
import type { Role, Scope } from '../lib/scope.ts';

/** A person who is signed in, as they are in their own account, whichever one they look at. */
export type Session = {
  readonly id: number;
  readonly accountId: number;
  readonly userId: number;
  readonly username: string;
  readonly role: Role;
  readonly createdAt: Date;
  /** At the latest. */
  readonly expiresAt: Date;
};

/**
 * Who calls: one key or one person, always of exactly one account. Every verb takes it; every row is reached by it.
 * `operator` is an operator of the gateway who looks at an account that is not theirs.
 */
export type Actor = {
  readonly kind: 'key' | 'user' | 'operator';
  readonly accountId: number;
  /** null when a person calls with a password. */
  readonly keyId: number | null;
  /** The person of the account, or the one who made the key; null for an operator, and for a key that one made. */
  readonly userId: number | null;
  readonly username: string | null;
  readonly role: Role;
  /** What this caller may touch: `requireScope` asks here. */
  readonly operations: ReadonlySet<Scope>;
  readonly plan: Plan;
  /** Those of the account's plan. `requireScope` asks here too. */
  readonly channels: ReadonlySet<Channel>;
  /** False: nobody has ever opted out of this account's messages, so sends need not ask. Undefined: unknown. */
  readonly hasOptOuts?: boolean;
  /** A person who may see to all accounts: `requireOperator` asks here. Never a key. */
  readonly isOperator?: boolean;
  /** Absent when the caller shows a key or a password. */
  readonly session?: Session;
};

/** A request, as far as it tells who calls: a Fastify request is one. */
export type Call = {
  readonly headers: IncomingHttpHeaders;
  /** Where it comes from, as the proxies that we trust saw it; not yet in one form (src/platform/lib/address.ts). */
  readonly ip: string;
  /** `http` or `https`, as those proxies saw it. */
  readonly protocol: string;
};

/** Who calls, and the headers that say how much more they may (contract 1, "Rate limits"). */
export type Admitted = { readonly actor: Actor; readonly headers: Readonly<Record<string, string>> };

/**
 * Tells who calls. Rejects with AppError `unauthenticated` (401; missing, wrong, revoked and expired credentials all
 * read alike), `forbidden` (403: the account is suspended, or the address is not on its list), `rate_limited` (429: too
 * many requests, or too many failed attempts) or `unavailable` (503).
 */
export type Authenticate = (call: Call) => Promise<Admitted>;

/**
 * Lets in who shows a username and a password, with the same limits and refusals. `passwordHash` is the stored one that
 * the password fitted: what is made of it can be made to fail when it was changed meanwhile.
 */
export type CheckPassword = (
  shown: { readonly username: string; readonly password: string },
  ip: string,
) => Promise<Admitted & { readonly passwordHash: string }>;
