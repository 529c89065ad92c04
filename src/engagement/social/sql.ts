import type { Author } from '../../identity/audit/record.ts';
import { type Db, exec, many, maybeOne, one, sql } from '../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../platform/db/select.ts';
import type { Platform } from '../../platform/lib/social-platform.ts';
import type { Linked } from './networks/network.ts';

type Of = { readonly accountId: number };
type One = Of & { readonly platform: Platform };

const CONNECT_STATE = columns({
  /** The SHA-256 of the value in the URL. */
  hash: as<Buffer>('s.hash'),
  accountId: as<number>('s.account_id'),
  platform: as<Platform>('s.platform'),
  /** The author who started the connection. */
  author: as<Omit<Author, 'accountId'>>('s.author'),
  /** The SHA-256 of the secret in the browser's cookie; null when a key started the connection. */
  browserHash: as<Buffer | null>('s.browser_hash'),
  /** The PKCE verifier, encrypted; null when the network does not use PKCE. */
  verifier: as<Buffer | null>('s.verifier'),
  expiresAt: as<Date>('s.expires_at'),
});

/** A connection to a profile that was started and not finished yet. */
export type ConnectState = Readonly<RowOf<typeof CONNECT_STATE>>;

export const insertState = (db: Db, state: ConnectState): Promise<number> =>
  exec(
    db,
    sql`INSERT INTO social_state (hash, account_id, platform, author, browser_hash, verifier, expires_at)
        VALUES (${state.hash}, ${state.accountId}, ${state.platform}, ${JSON.stringify(state.author)}::jsonb,
          ${state.browserHash}, ${state.verifier}, ${state.expiresAt})`,
  );

/**
 * Deletes a state and returns it, so that it is used once, whatever happens next. Only for accounts that are active.
 */
export const deleteState = (db: Db, { hash }: { hash: Buffer }): Promise<ConnectState | undefined> =>
  maybeOne(
    db,
    sql`DELETE FROM social_state s USING account a
        WHERE s.hash = ${hash} AND a.id = s.account_id AND a.status = 'active'
        RETURNING ${CONNECT_STATE}`,
  );

export const deleteOldStates = (db: Db, { before }: { before: Date }): Promise<number> =>
  exec(db, sql`DELETE FROM social_state WHERE expires_at < ${before}`);

const PROFILE = columns({
  accountId: as<number>('account_id'),
  platform: as<Platform>('platform'),
  /** The id of the profile at the network. */
  externalId: as<string>('external_id'),
  username: as<string | null>('username'),
  profileName: as<string>('profile_name'),
  hasPicture: as<boolean>('picture IS NOT NULL'),
  scopes: as<string[]>('scopes'),
  linked: as<Linked[]>('linked'),
  /** The network's reason for not listing the linked pages, organisations or locations; null if it listed them. */
  linkedFault: as<string | null>('linked_fault'),
  /** True if it is connected to the sandbox instead of the network. */
  sandbox: as<boolean>('sandbox'),
  /** The tokens, encrypted by `sealTokens`. */
  tokens: as<Buffer>('tokens'),
  /** Expiry of the token; null: it does not expire. */
  tokenExpiresAt: as<Date | null>('token_expires_at'),
  /** Time at which the token is to be renewed; null: never. */
  refreshAt: as<Date | null>('refresh_at'),
  /** Increases whenever the tokens change. */
  version: as<number>('version'),
  /** Number of consecutive failed renewals. */
  failures: as<number>('failures'),
  /** Reason for which the profile was disconnected; null when it is connected. */
  disconnected: as<string | null>('disconnected'),
  connectedAt: as<Date>('connected_at'),
});

/** A profile at a social network that was connected to an account. */
export type ProfileRow = RowOf<typeof PROFILE>;

export const listProfiles = (db: Db, { accountId }: Of): Promise<ProfileRow[]> =>
  many(db, sql`SELECT ${PROFILE} FROM social_profile WHERE account_id = ${accountId} ORDER BY platform`);

export const findProfile = (db: Db, { accountId, platform }: One): Promise<ProfileRow | undefined> =>
  maybeOne(db, sql`SELECT ${PROFILE} FROM social_profile WHERE account_id = ${accountId} AND platform = ${platform}`);

/** Finds the picture of a profile: a JPEG of at most 320 by 320. Undefined if there is no picture or no profile. */
export const findPicture = (db: Db, { accountId, platform }: One): Promise<{ picture: Buffer } | undefined> =>
  maybeOne(
    db,
    sql`SELECT picture FROM social_profile
        WHERE account_id = ${accountId} AND platform = ${platform} AND picture IS NOT NULL`,
  );

export type NewProfile = Omit<ProfileRow, 'hasPicture' | 'version' | 'failures' | 'disconnected' | 'connectedAt'> & {
  readonly picture: Buffer | null;
  readonly connectedBy: number | null;
};

/** Inserts the profile of a network, or replaces the existing one. */
export const insertProfile = (db: Db, profile: NewProfile): Promise<{ version: number }> =>
  one(
    db,
    sql`INSERT INTO social_profile AS p (account_id, platform, external_id, username, profile_name, picture, scopes,
          linked, linked_fault, sandbox, tokens, token_expires_at, refresh_at, connected_by)
        VALUES (${profile.accountId}, ${profile.platform}, ${profile.externalId}, ${profile.username},
          ${profile.profileName}, ${profile.picture}, ${profile.scopes}, ${JSON.stringify(profile.linked)}::jsonb,
          ${profile.linkedFault}, ${profile.sandbox}, ${profile.tokens}, ${profile.tokenExpiresAt}, ${profile.refreshAt}, ${profile.connectedBy})
        ON CONFLICT (account_id, platform) DO UPDATE SET
          external_id = excluded.external_id, username = excluded.username, profile_name = excluded.profile_name,
          picture = excluded.picture, scopes = excluded.scopes, linked = excluded.linked,
          linked_fault = excluded.linked_fault, sandbox = excluded.sandbox, tokens = excluded.tokens, token_expires_at = excluded.token_expires_at, refresh_at = excluded.refresh_at,
          connected_by = excluded.connected_by, connected_at = now(), failures = 0, disconnected = NULL,
          version = p.version + 1
        RETURNING version`,
  );

export const deleteProfile = (db: Db, { accountId, platform }: One): Promise<number> =>
  exec(db, sql`DELETE FROM social_profile WHERE account_id = ${accountId} AND platform = ${platform}`);

/** Deletes the profiles of all accounts that are connected to the sandbox, at these networks. */
export const deleteSandboxProfiles = (db: Db, { platforms }: { platforms: readonly Platform[] }): Promise<number> =>
  exec(db, sql`DELETE FROM social_profile WHERE sandbox AND platform = ANY(${platforms})`);

/**
 * Claims the profile of any account that is due first for renewal; for `leaseMs` no other worker gets it. The lease
 * must be longer than the network may take: two simultaneous renewals would invalidate each other's tokens.
 */
export const claimDueProfile = (
  db: Db,
  { now, leaseMs }: { now: Date; leaseMs: number },
): Promise<ProfileRow | undefined> =>
  maybeOne(
    db,
    sql`UPDATE social_profile SET refresh_at = ${new Date(now.getTime() + leaseMs)}
        WHERE (account_id, platform) = (
          SELECT p.account_id, p.platform FROM social_profile p WHERE p.refresh_at <= ${now}
          ORDER BY p.refresh_at LIMIT 1 FOR UPDATE SKIP LOCKED)
        RETURNING ${PROFILE}`,
  );

type ProfileVersion = One & { readonly version: number };

/** Stores renewed tokens. Returns 0 when the profile was connected again or deleted in the meantime. */
export const updateTokens = (
  db: Db,
  {
    accountId,
    platform,
    version,
    ...next
  }: ProfileVersion & { tokens: Buffer; tokenExpiresAt: Date | null; refreshAt: Date | null },
): Promise<number> =>
  exec(
    db,
    sql`UPDATE social_profile SET tokens = ${next.tokens}, token_expires_at = ${next.tokenExpiresAt},
          refresh_at = ${next.refreshAt}, failures = 0, version = version + 1
        WHERE account_id = ${accountId} AND platform = ${platform} AND version = ${version}`,
  );

/** Records a failed renewal and the time of the next attempt. */
export const updateFailedRefresh = (
  db: Db,
  { accountId, platform, version, refreshAt }: ProfileVersion & { refreshAt: Date },
): Promise<number> =>
  exec(
    db,
    sql`UPDATE social_profile SET failures = failures + 1, refresh_at = ${refreshAt}
        WHERE account_id = ${accountId} AND platform = ${platform} AND version = ${version}`,
  );

/** Marks a profile as disconnected, because its grant has ended: the person must connect it again. */
export const moveToDisconnected = (
  db: Db,
  { accountId, platform, version, reason }: ProfileVersion & { reason: string },
): Promise<number> =>
  exec(
    db,
    sql`UPDATE social_profile SET disconnected = ${reason}, refresh_at = NULL
        WHERE account_id = ${accountId} AND platform = ${platform} AND version = ${version}`,
  );
