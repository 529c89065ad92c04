import type { IncomingHttpHeaders } from 'node:http';
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
};

/**
 * Tells who calls from the headers of a request. Rejects with AppError `unauthenticated` (401; missing, wrong, revoked
 * and expired credentials all read alike), `forbidden` (403, the account is suspended) or `unavailable` (503).
 */
export type Authenticate = (headers: IncomingHttpHeaders) => Promise<Actor>;
