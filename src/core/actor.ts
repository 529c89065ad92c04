import type { IncomingHttpHeaders } from 'node:http';
import { CHANNELS, type Channel, type Purpose } from './channels.ts';
import { AppError } from './errors.ts';
import type { NumberRules } from './phone.ts';

export const SIGN_IN_METHODS = ['password', 'totp', 'recovery-code', 'passkey', 'single-sign-on'] as const;
export type SignInMethod = (typeof SIGN_IN_METHODS)[number];

/** The session of a signed-in user in the user's own account, even while the session looks at another account. */
export type Session = {
  readonly id: number;
  readonly accountId: number;
  readonly userId: number;
  readonly username: string;
  /** What colleagues call the user; '' if nothing was given. */
  readonly displayName: string;
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

/** Settings of an account, or of one of its keys, for the messages that its callers send. */
export type SendingRules = {
  /** The purpose of messages that state none; null: they have none. */
  readonly purpose: Purpose | null;
  /** True if marketing messages wait for the hours that the rules of the recipient's country allow. */
  readonly respectsCalendar: boolean;
  /** The most marketing messages for one person in seven days; null: any number. */
  readonly weeklyCap: number | null;
};

/** The rules of most accounts. */
export const NO_SENDING_RULES: SendingRules = { purpose: null, respectsCalendar: false, weeklyCap: null };

type SendingRow = Omit<SendingRules, 'purpose'> & { readonly defaultPurpose: Purpose | null };

/** Reads the rules from a row of an account; `own` is the purpose of the key. */
export const sendingRulesOf = (
  { defaultPurpose, respectsCalendar, weeklyCap }: SendingRow,
  own: Purpose | null = null,
): SendingRules => {
  const purpose = own ?? defaultPurpose;
  return purpose === null && !respectsCalendar && weeklyCap === null
    ? NO_SENDING_RULES
    : { purpose, respectsCalendar, weeklyCap };
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
  /** Absent: those of most accounts. */
  readonly sendingRules?: SendingRules;
  /** True if the caller is a user who may manage all accounts; checked by `requireOperator`. Never true for a key. */
  readonly isOperator?: boolean;
  /** Absent when the caller authenticates with a key or a password. */
  readonly session?: Session;
};

/** The parts of a request that authentication needs; a Fastify request has them. */
export type AuthRequest = {
  readonly headers: IncomingHttpHeaders;
  /** The client's address as seen by the trusted proxies; not yet canonical (src/core/address.ts). */
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

/**
 * The areas of the API, of which every operation names those that it needs: the three channels (sending) and the other
 * activities of an account, with `money` (balance, ledger, prices, and all amounts in other responses) and `social`.
 */
export const SCOPES = [
  ...CHANNELS,
  'campaigns',
  'contacts',
  'tracking',
  'inbox',
  'exports',
  'webhooks',
  'media',
  'keys',
  'money',
  'social',
  'verify',
] as const;
export type Scope = (typeof SCOPES)[number];

/** The roles of users, from the least to the most powerful. */
export const ROLES = ['viewer', 'sender', 'manager', 'admin'] as const;
export type Role = (typeof ROLES)[number];

/** Access of an operation within a scope. */
export type Access = 'read' | 'write';

/**
 * The one table of rights: the access of each role within each scope. `write` includes `read`. The scope `keys` covers
 * keys, users, sessions of others, the audit log, the allow-list, the policy for campaigns and the rules for reading
 * numbers.
 */
export const RIGHTS: Record<Scope, Record<Role, Access | 'none'>> = {
  SMS: { viewer: 'read', sender: 'write', manager: 'write', admin: 'write' },
  WHATSAPP: { viewer: 'read', sender: 'write', manager: 'write', admin: 'write' },
  RCS: { viewer: 'read', sender: 'write', manager: 'write', admin: 'write' },
  campaigns: { viewer: 'read', sender: 'read', manager: 'write', admin: 'write' },
  contacts: { viewer: 'read', sender: 'read', manager: 'write', admin: 'write' },
  tracking: { viewer: 'read', sender: 'read', manager: 'write', admin: 'write' },
  inbox: { viewer: 'read', sender: 'write', manager: 'write', admin: 'write' },
  exports: { viewer: 'read', sender: 'none', manager: 'write', admin: 'write' },
  webhooks: { viewer: 'read', sender: 'none', manager: 'write', admin: 'write' },
  media: { viewer: 'read', sender: 'write', manager: 'write', admin: 'write' },
  keys: { viewer: 'none', sender: 'none', manager: 'none', admin: 'write' },
  money: { viewer: 'read', sender: 'none', manager: 'read', admin: 'write' },
  social: { viewer: 'read', sender: 'none', manager: 'write', admin: 'write' },
  verify: { viewer: 'read', sender: 'write', manager: 'write', admin: 'write' },
};

/** Returns true if a role has this access within the scope. */
export const roleMay = (role: Role, scope: Scope, access: Access): boolean =>
  access === 'read' ? RIGHTS[scope][role] !== 'none' : RIGHTS[scope][role] === 'write';

const readableBy = (role: Role): ReadonlySet<Scope> => new Set(SCOPES.filter((scope) => roleMay(role, scope, 'read')));

/** Made once: every request of a user asks for one of them. */
const ROLE_SCOPES: Record<Role, ReadonlySet<Scope>> = {
  viewer: readableBy('viewer'),
  sender: readableBy('sender'),
  manager: readableBy('manager'),
  admin: readableBy('admin'),
};

/** Returns the scopes of a user: those that the role may at least read. */
export const scopesOfRole = (role: Role): ReadonlySet<Scope> => ROLE_SCOPES[role];

/**
 * Returns the scopes of a key: those stored with it that its user's role still has, so that a key never has more rights
 * than its user, even if that user's role is reduced later. Stored values that are not scopes are ignored.
 */
export function scopesOfKey(role: Role, operations: readonly string[]): ReadonlySet<Scope> {
  return new Set(SCOPES.filter((scope) => operations.includes(scope) && ROLE_SCOPES[role].has(scope)));
}

/** The part of a caller that determines its rights: a role, and the scopes to which a key limits it. */
export type Holder = { readonly role: Role; readonly operations: ReadonlySet<Scope> };

/** Returns true if a caller has this access within the scope: it has the scope, and its role allows the access. */
export const mayAccess = ({ role, operations }: Holder, scope: Scope, access: Access): boolean =>
  operations.has(scope) && roleMay(role, scope, access);

export const PLANS = ['production', 'trial', 'unlimited'] as const;

/** The plan of an account, which determines the type of its traffic and its limits. */
export type Plan = (typeof PLANS)[number];

/** Maximum use that an account may make of the operator's installation in a day; null: unlimited. */
type DailyBudget = {
  /** Mails, of all kinds except links for new passwords. */
  readonly mails: number | null;
  /** Paid lookups of the networks of numbers. */
  readonly lookups: number | null;
};

export const DAILY_BUDGETS: Readonly<Record<Plan, DailyBudget>> = {
  production: { mails: 1000, lookups: 100_000 },
  trial: { mails: 20, lookups: 1000 },
  unlimited: { mails: null, lookups: null },
};

/** Returns the effective role of a session: in another account an operator of the gateway has the role of an admin. */
export const roleIn = (accountId: number, session: Pick<Session, 'accountId' | 'role'>): Role =>
  accountId === session.accountId ? session.role : 'admin';

/**
 * Throws 403 unless this caller may create, change and remove users of that role. Callers cannot grant what they lack
 * themselves, so that a key with few scopes cannot create a user with many.
 */
export function requireAuthority(caller: Holder, role: Role): void {
  const lacking = SCOPES.filter((scope) =>
    (['read', 'write'] as const).some((access) => roleMay(role, scope, access) && !mayAccess(caller, scope, access)),
  );
  if (lacking.length > 0)
    throw new AppError('forbidden', {
      message: `These credentials lack rights of the role ${role}, in the scopes ${lacking.join(', ')}`,
    });
}
