import type { IncomingHttpHeaders } from 'node:http';
import type { Channel } from '../lib/channel.ts';
import type { Role, Scope } from '../lib/scope.ts';

/** The plan of an account: what its traffic counts as and which limits it has. */
export type Plan = 'production' | 'trial' | 'unlimited';

/** Who calls: one key or one person, always of exactly one account. Every verb takes it; every row is reached by it. */
export type Actor = {
  readonly kind: 'key' | 'user';
  readonly accountId: number;
  /** null when a person calls with a password. */
  readonly keyId: number | null;
  /** The person, or the one who made the key; null for a key that the operator made. */
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
};

/** A request, as far as it tells who calls: a Fastify request is one. */
export type Call = {
  readonly headers: IncomingHttpHeaders;
  /** Where it comes from, as the proxies that we trust saw it; not yet in one form (src/lib/address.ts). */
  readonly ip: string;
};

/** Who calls, and the headers that say how much more they may (contract 1, "Rate limits"). */
export type Admitted = { readonly actor: Actor; readonly headers: Readonly<Record<string, string>> };

/**
 * Tells who calls. Rejects with AppError `unauthenticated` (401; missing, wrong, revoked and expired credentials all
 * read alike), `forbidden` (403: the account is suspended, or the address is not on its list), `rate_limited` (429: too
 * many requests, or too many failed attempts) or `unavailable` (503).
 */
export type Authenticate = (call: Call) => Promise<Admitted>;
