import pg, { type Pool } from 'pg';
import type { Role } from '../core/actor.ts';
import { every, type Task } from '../core/background.ts';
import { as, columns, type Db, exec, maybeOne, one, type RowOf, sql } from '../core/db/query.ts';
import { open, type SecretKey, seal } from '../core/secrets.ts';
import { MINUTE_MS } from '../core/time.ts';

export type GroupRole = { readonly group: string; readonly role: Role };

/** Reasons why a person was not signed in. The console has a sentence for each. */
export const PROBLEMS = ['expired', 'cancelled', 'unavailable', 'untrusted', 'not_allowed'] as const;
type Problem = (typeof PROBLEMS)[number];

/** The result of a trial: the outcome that a sign-in with the same response of the provider would have had. */
export type Trial = {
  readonly at: string;
  readonly version: number;
  /** Null: the person would have been signed in. */
  readonly problem: Problem | null;
  /** More about the problem, for the admin who runs the trial. */
  readonly detail: string | null;
  readonly email: string | null;
  readonly groups: readonly string[];
  readonly role: Role | null;
};

/** A sign-in that failed. The message is for admins who try their settings; it contains no secret and no address. */
export class SignOnFailure extends Error {
  readonly problem: Problem;

  constructor(problem: Problem, message: string, options?: { cause: unknown }) {
    super(message, options);
    this.problem = problem;
  }
}

/** Claims of the provider about a person, after all checks of its response. */
export type Claims = {
  readonly subject: string;
  /** Email address in lower case; null unless the provider states that it is verified. */
  readonly email: string | null;
  readonly groups: readonly string[];
  /** Time of the person's last sign-in at the provider; null if not stated. */
  readonly authenticatedAt: Date | null;
};

/** Rules of an account for admitting people. */
type Rules = {
  readonly groupRoles: readonly GroupRole[];
  readonly defaultRole: Role | null;
  readonly emailDomains: readonly string[];
  readonly provenDomains: readonly string[];
};

/**
 * Returns the role that a person gets: that of the first mapping with one of their groups, else the default, which only
 * people of a proven domain get. Throws a SignOnFailure for people whom the settings do not allow.
 */
export function roleOf(rules: Rules, { email, groups }: Claims): Role {
  const { groupRoles, defaultRole, emailDomains, provenDomains } = rules;
  if (emailDomains.length > 0) {
    if (email === null) throw new SignOnFailure('not_allowed', 'the provider confirms no email address');
    if (!emailDomains.includes(domainOf(email)))
      throw new SignOnFailure('not_allowed', 'the email address is in none of the allowed domains');
  }
  const ofGroup = groupRoles.find(({ group }) => groups.includes(group))?.role;
  if (ofGroup !== undefined) return ofGroup;
  if (defaultRole === null) throw new SignOnFailure('not_allowed', 'the person is in no group with a role');
  if (email === null || !provenDomains.includes(domainOf(email)))
    throw new SignOnFailure('not_allowed', 'the person is in no group with a role, and the mail domain is not proven');
  return defaultRole;
}

export const domainOf = (email: string): string => email.slice(email.lastIndexOf('@') + 1);

const contextOf = (accountId: number): string => `single_sign_on.client_secret ${accountId}`;

export const sealClientSecret = (key: SecretKey, accountId: number, secret: string): Buffer =>
  seal(key, secret, contextOf(accountId));

/** Opens the stored client secret; null for a public client. */
export const clientSecretOf = (
  key: SecretKey,
  { accountId, clientSecret }: { readonly accountId: number; readonly clientSecret: Buffer | null },
): string | null => (clientSecret === null ? null : open(key, clientSecret, contextOf(accountId)).toString());

/** Deletes sign-ins that were begun and not finished in time. */
export const singleSignOnTasks = ({ pool }: { readonly pool: Pool }): Task[] => [
  { name: 'expired sign-ons', work: every(10 * MINUTE_MS, () => deleteExpiredStates(pool)) },
];

type Of = { readonly accountId: number };

const SETTINGS = columns({
  accountId: as<number>('s.account_id'),
  shortName: as<string>('s.short_name'),
  enabled: as<boolean>('s.enabled'),
  issuer: as<string>('s.issuer'),
  clientId: as<string>('s.client_id'),
  /** Sealed; null: a public client. */
  clientSecret: as<Buffer | null>('s.client_secret'),
  scopes: as<string[]>('s.scopes'),
  groupsClaim: as<string | null>('s.groups_claim'),
  groupRoles: as<GroupRole[]>('s.group_roles'),
  defaultRole: as<Role | null>('s.default_role'),
  /** The mail domains that the account names, proven or not. */
  emailDomains: as<string[]>(`ARRAY (SELECT c.domain FROM single_sign_on_claim c
      WHERE c.account_id = s.account_id ORDER BY c.domain)`),
  provenDomains: as<string[]>(`ARRAY (SELECT d.domain FROM single_sign_on_domain d
      WHERE d.account_id = s.account_id ORDER BY d.domain)`),
  required: as<boolean>('s.required'),
  emergencyUserId: as<number | null>('s.emergency_user_id'),
  /** Increases with each change of what a trial would show. */
  version: as<number>('s.version'),
  lastTrial: as<Trial | null>('s.last_trial'),
  /** The end of the redirect URI, and the value in DNS records. */
  token: as<string>('(SELECT a.sign_on_token FROM account a WHERE a.id = s.account_id)'),
});
export type SettingsRow = RowOf<typeof SETTINGS>;

export const findSettings = (db: Db, { accountId }: Of): Promise<SettingsRow | undefined> =>
  maybeOne(db, sql`SELECT ${SETTINGS} FROM single_sign_on s WHERE s.account_id = ${accountId}`);

/** Finds the settings and locks them until the transaction ends. */
export const findSettingsForUpdate = (db: Db, { accountId }: Of): Promise<SettingsRow | undefined> =>
  maybeOne(db, sql`SELECT ${SETTINGS} FROM single_sign_on s WHERE s.account_id = ${accountId} FOR UPDATE`);

/** Finds the token of an account, which it has without settings too. */
export async function findToken(db: Db, { accountId }: Of): Promise<string> {
  const { token } = await one<{ token: string }>(
    db,
    sql`SELECT sign_on_token AS token FROM account WHERE id = ${accountId}`,
  );
  return token;
}

/** Finds the enabled settings of the account with this short name, or that has proven this mail domain. */
export const findSettingsOf = (
  db: Db,
  { shortName, domain }: { shortName: string; domain: string },
): Promise<SettingsRow | undefined> =>
  maybeOne(
    db,
    sql`SELECT ${SETTINGS} FROM single_sign_on s JOIN account a ON a.id = s.account_id
        WHERE s.enabled AND a.status = 'active' AND (s.short_name = ${shortName} OR s.account_id = (
          SELECT d.account_id FROM single_sign_on_domain d WHERE d.domain = ${domain}))
        ORDER BY s.account_id LIMIT 1`,
  );

/** Returns true if people of any account sign in with a provider. */
export async function hasSingleSignOn(db: Db): Promise<boolean> {
  const { has } = await one<{ has: boolean }>(db, sql`SELECT EXISTS (SELECT FROM single_sign_on WHERE enabled) AS has`);
  return has;
}

type NewSettings = Omit<SettingsRow, 'lastTrial' | 'emailDomains' | 'provenDomains' | 'token'>;

/** Inserts or replaces the settings. Rejects with `isTakenName` if another account has the short name. */
export const upsertSettings = (db: Db, made: NewSettings): Promise<number> =>
  exec(
    db,
    sql`INSERT INTO single_sign_on (account_id, short_name, enabled, issuer, client_id, client_secret, scopes,
          groups_claim, group_roles, default_role, required, emergency_user_id, version)
        VALUES (${made.accountId}, ${made.shortName}, ${made.enabled}, ${made.issuer}, ${made.clientId},
          ${made.clientSecret}, ${made.scopes}, ${made.groupsClaim}, ${JSON.stringify(made.groupRoles)}::jsonb,
          ${made.defaultRole}, ${made.required}, ${made.emergencyUserId}, ${made.version})
        ON CONFLICT (account_id) DO UPDATE SET
          short_name = excluded.short_name, enabled = excluded.enabled, issuer = excluded.issuer,
          client_id = excluded.client_id, client_secret = excluded.client_secret, scopes = excluded.scopes,
          groups_claim = excluded.groups_claim, group_roles = excluded.group_roles,
          default_role = excluded.default_role, required = excluded.required,
          emergency_user_id = excluded.emergency_user_id, version = excluded.version`,
  );

/** Returns true if a statement failed because another account has the short name. Its row cannot be read from here. */
export const isTakenName = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && error.constraint === 'single_sign_on_short_name_key';

type Domains = Of & { readonly domains: readonly string[] };

/** Inserts mail domains that an account names. Those that it named before stay as they are. */
export const insertClaims = (db: Db, { accountId, domains }: Domains): Promise<number> =>
  exec(
    db,
    sql`INSERT INTO single_sign_on_claim (account_id, domain)
        SELECT ${accountId}, domain FROM unnest(${domains}::text[]) AS domain ON CONFLICT DO NOTHING`,
  );

/** Deletes the mail domains of an account apart from these, and their proofs with them. */
export const deleteOtherClaims = (db: Db, { accountId, domains }: Domains): Promise<number> =>
  exec(
    db,
    sql`DELETE FROM single_sign_on_claim WHERE account_id = ${accountId} AND domain <> ALL (${domains}::text[])`,
  );

type OneDomain = Of & { readonly domain: string };

const HOLDER = columns({ accountId: as<number>('d.account_id'), token: as<string>('a.sign_on_token') });

/** Finds the account that has proven a domain, whichever it is, and locks the proof until the transaction ends. */
export const findHolderForUpdate = (
  db: Db,
  { domain }: Pick<OneDomain, 'domain'>,
): Promise<RowOf<typeof HOLDER> | undefined> =>
  maybeOne(
    db,
    sql`SELECT ${HOLDER} FROM single_sign_on_domain d JOIN account a ON a.id = d.account_id
        WHERE d.domain = ${domain} FOR UPDATE OF d`,
  );

/** Records that an account has proven a domain. Returns 0 if it does not name the domain, or another one has proven it. */
export const insertProof = (db: Db, { accountId, domain }: OneDomain): Promise<number> =>
  exec(
    db,
    sql`INSERT INTO single_sign_on_domain (domain, account_id)
        SELECT domain, account_id FROM single_sign_on_claim WHERE account_id = ${accountId} AND domain = ${domain}
        FOR KEY SHARE
        ON CONFLICT (domain) DO NOTHING`,
  );

export const deleteProof = (db: Db, { accountId, domain }: OneDomain): Promise<number> =>
  exec(db, sql`DELETE FROM single_sign_on_domain WHERE account_id = ${accountId} AND domain = ${domain}`);

export const deleteSettings = (db: Db, { accountId }: Of): Promise<number> =>
  exec(db, sql`DELETE FROM single_sign_on WHERE account_id = ${accountId}`);

/** Makes single sign-on optional, so that passwords sign in again. Returns 0 if it was not required. */
export const updateRequired = (db: Db, { accountId }: Of): Promise<number> =>
  exec(db, sql`UPDATE single_sign_on SET required = false WHERE account_id = ${accountId} AND required`);

/** Stores the result of a trial, unless the settings have changed meanwhile. */
export const updateTrial = (db: Db, { accountId, trial }: Of & { readonly trial: Trial }): Promise<number> =>
  exec(
    db,
    sql`UPDATE single_sign_on SET last_trial = ${JSON.stringify(trial)}::jsonb
        WHERE account_id = ${accountId} AND version = ${trial.version}`,
  );

const STATE = columns({
  /** The SHA-256 of the value in the URL. */
  hash: as<Buffer>('hash'),
  accountId: as<number>('account_id'),
  /** The SHA-256 of the secret in the browser's cookie. */
  browserHash: as<Buffer>('browser_hash'),
  /** The nonce and the verifier, sealed. */
  secrets: as<Buffer>('secrets'),
  /** The page of the console to continue with. */
  next: as<string>('next'),
  isTrial: as<boolean>('is_trial'),
  /** The session that is to be proven; null for a sign-in and a trial. */
  sessionId: as<number | null>('session_id'),
  version: as<number>('version'),
  /** Address at which the response must arrive; null: begun by an earlier version. */
  redirectUri: as<string | null>('redirect_uri'),
});
type NewState = RowOf<typeof STATE>;

const BEGUN = columns({ begunAt: as<Date>('begun_at') });
export type StateRow = NewState & RowOf<typeof BEGUN>;

export const insertState = (db: Db, state: NewState & { readonly validSeconds: number }): Promise<number> =>
  exec(
    db,
    sql`INSERT INTO single_sign_on_state
          (hash, account_id, browser_hash, secrets, next, is_trial, session_id, version, redirect_uri, expires_at)
        VALUES (${state.hash}, ${state.accountId}, ${state.browserHash}, ${state.secrets}, ${state.next},
          ${state.isTrial}, ${state.sessionId}, ${state.version}, ${state.redirectUri},
          now() + make_interval(secs => ${state.validSeconds}))`,
  );

/** Deletes a state and returns it unless it has expired, so that it is used once, whatever happens next. */
export const deleteState = (db: Db, { hash }: { hash: Buffer }): Promise<StateRow | undefined> =>
  maybeOne(
    db,
    sql`WITH used AS (DELETE FROM single_sign_on_state WHERE hash = ${hash} RETURNING *)
        SELECT ${STATE}, ${BEGUN} FROM used WHERE expires_at > now()`,
  );

export const deleteExpiredStates = (db: Db): Promise<number> =>
  exec(db, sql`DELETE FROM single_sign_on_state WHERE expires_at <= now()`);

const MEMBER = columns({
  id: as<number>('u.id'),
  username: as<string>('u.username'),
  role: as<Role>('u.role'),
  isOperator: as<boolean>('u.is_operator'),
});
/** A user who signs in with the provider. */
export type Member = RowOf<typeof MEMBER>;

type Person = Of & { readonly issuer: string; readonly subject: string };

export const findMember = (db: Db, { accountId, issuer, subject }: Person): Promise<Member | undefined> =>
  maybeOne(
    db,
    sql`SELECT ${MEMBER} FROM single_sign_on_user p JOIN app_user u ON u.id = p.user_id
        WHERE p.account_id = ${accountId} AND p.issuer = ${issuer} AND p.subject = ${subject}
          AND u.account_id = ${accountId}`,
  );

/** Returns true if a user signs in with this provider. */
export async function isMember(db: Db, input: Of & { readonly issuer: string; userId: number }): Promise<boolean> {
  const { accountId, issuer, userId } = input;
  const { has } = await one<{ has: boolean }>(
    db,
    sql`SELECT EXISTS (SELECT FROM single_sign_on_user
        WHERE account_id = ${accountId} AND issuer = ${issuer} AND user_id = ${userId}) AS has`,
  );
  return has;
}

export const findUserByName = (
  db: Db,
  { accountId, username }: Of & { readonly username: string },
): Promise<Member | undefined> =>
  maybeOne(db, sql`SELECT ${MEMBER} FROM app_user u WHERE u.account_id = ${accountId} AND u.username = ${username}`);

/** Records that a person was denied at the latest sign-in, or admitted. Returns 0 if nothing changes. */
export const updateRefusal = (db: Db, person: Person & { isRefused: boolean }): Promise<number> =>
  exec(
    db,
    sql`UPDATE single_sign_on_user SET refused_at = ${person.isRefused ? new Date() : null}
        WHERE account_id = ${person.accountId} AND issuer = ${person.issuer} AND subject = ${person.subject}
          AND (refused_at IS NOT NULL) <> ${person.isRefused}`,
  );

/**
 * Links a person of a provider to a user. Returns 0 if the person has a user already, or the user is another person.
 */
export const insertMember = (db: Db, { accountId, issuer, subject, userId }: Person & { userId: number }) =>
  exec(
    db,
    sql`INSERT INTO single_sign_on_user (account_id, issuer, subject, user_id)
        VALUES (${accountId}, ${issuer}, ${subject}, ${userId}) ON CONFLICT DO NOTHING`,
  );
