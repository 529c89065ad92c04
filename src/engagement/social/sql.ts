import type { Author } from '../../identity/audit/record.ts';
import { type Db, exec, many, maybeOne, one, sql } from '../../platform/db/query.ts';
import type { Platform } from '../../platform/lib/social-platform.ts';
import type { Linked } from './networks/network.ts';

type Of = { readonly accountId: number };
type One = Of & { readonly platform: Platform };

/** A connection that was begun. */
export type ConnectState = One & {
  readonly hash: Buffer;
  readonly author: Omit<Author, 'accountId'>;
  readonly browserHash: Buffer | null;
  readonly verifier: Buffer | null;
};

export const insertState = (db: Db, state: ConnectState & { readonly expiresAt: Date }): Promise<number> =>
  exec(
    db,
    sql`INSERT INTO social_state (hash, account_id, platform, author, browser_hash, verifier, expires_at)
        VALUES (${state.hash}, ${state.accountId}, ${state.platform}, ${JSON.stringify(state.author)}::jsonb,
          ${state.browserHash}, ${state.verifier}, ${state.expiresAt})`,
  );

/** Takes a state for its one use, whatever becomes of it; of an account that may still call. */
export const deleteState = (
  db: Db,
  { hash }: { hash: Buffer },
): Promise<(ConnectState & { expiresAt: Date }) | undefined> =>
  maybeOne(
    db,
    sql`DELETE FROM social_state s USING account a
        WHERE s.hash = ${hash} AND a.id = s.account_id AND a.status = 'active'
        RETURNING s.hash, s.account_id AS "accountId", s.platform, s.author, s.browser_hash AS "browserHash", s.verifier,
          s.expires_at AS "expiresAt"`,
  );

export const deleteOldStates = (db: Db, { before }: { before: Date }): Promise<number> =>
  exec(db, sql`DELETE FROM social_state WHERE expires_at < ${before}`);

export type ProfileRow = One & {
  externalId: string;
  username: string | null;
  profileName: string;
  pictureUrl: string | null;
  scopes: string[];
  linked: Linked[];
  /** Sealed. */
  tokens: Buffer;
  tokenExpiresAt: Date | null;
  refreshAt: Date | null;
  version: number;
  failures: number;
  disconnected: string | null;
  connectedAt: Date;
};

const COLUMNS = sql`account_id AS "accountId", platform, external_id AS "externalId", username,
  profile_name AS "profileName", picture_url AS "pictureUrl", scopes, linked, tokens,
  token_expires_at AS "tokenExpiresAt", refresh_at AS "refreshAt", version, failures, disconnected,
  connected_at AS "connectedAt"`;

export const listProfiles = (db: Db, { accountId }: Of): Promise<ProfileRow[]> =>
  many(db, sql`SELECT ${COLUMNS} FROM social_profile WHERE account_id = ${accountId} ORDER BY platform`);

export const findProfile = (db: Db, { accountId, platform }: One): Promise<ProfileRow | undefined> =>
  maybeOne(db, sql`SELECT ${COLUMNS} FROM social_profile WHERE account_id = ${accountId} AND platform = ${platform}`);

export type NewProfile = Omit<ProfileRow, 'version' | 'failures' | 'disconnected' | 'connectedAt'> & {
  readonly connectedBy: number | null;
};

/** The profile of a network, in place of the one that there was. */
export const insertProfile = (db: Db, profile: NewProfile): Promise<{ version: number }> =>
  one(
    db,
    sql`INSERT INTO social_profile AS p (account_id, platform, external_id, username, profile_name, picture_url, scopes,
          linked, tokens, token_expires_at, refresh_at, connected_by)
        VALUES (${profile.accountId}, ${profile.platform}, ${profile.externalId}, ${profile.username},
          ${profile.profileName}, ${profile.pictureUrl}, ${profile.scopes}, ${JSON.stringify(profile.linked)}::jsonb,
          ${profile.tokens}, ${profile.tokenExpiresAt}, ${profile.refreshAt}, ${profile.connectedBy})
        ON CONFLICT (account_id, platform) DO UPDATE SET
          external_id = excluded.external_id, username = excluded.username, profile_name = excluded.profile_name,
          picture_url = excluded.picture_url, scopes = excluded.scopes, linked = excluded.linked,
          tokens = excluded.tokens, token_expires_at = excluded.token_expires_at, refresh_at = excluded.refresh_at,
          connected_by = excluded.connected_by, connected_at = now(), failures = 0, disconnected = NULL,
          version = p.version + 1
        RETURNING version`,
  );

export const deleteProfile = (db: Db, { accountId, platform }: One): Promise<number> =>
  exec(db, sql`DELETE FROM social_profile WHERE account_id = ${accountId} AND platform = ${platform}`);

/**
 * The profile, of any account, whose time has come first; for `leaseMs` nobody else is given it. Longer than the network
 * may take: two who refresh at once would end each other's tokens.
 */
export const claimDueProfile = (
  db: Db,
  { now, leaseMs }: { now: Date; leaseMs: number },
): Promise<ProfileRow | undefined> =>
  maybeOne(
    db,
    sql`UPDATE social_profile SET refresh_at = ${new Date(now.getTime() + leaseMs)}
        WHERE (account_id, platform) = (
          SELECT account_id, platform FROM social_profile WHERE refresh_at <= ${now}
          ORDER BY refresh_at LIMIT 1 FOR UPDATE SKIP LOCKED)
        RETURNING ${COLUMNS}`,
  );

type ProfileVersion = One & { readonly version: number };

/** 0 when it was connected anew or forgotten meanwhile. */
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

/** Notes a refresh that did not come through, and when it is tried again. */
export const updateFailedRefresh = (
  db: Db,
  { accountId, platform, version, refreshAt }: ProfileVersion & { refreshAt: Date },
): Promise<number> =>
  exec(
    db,
    sql`UPDATE social_profile SET failures = failures + 1, refresh_at = ${refreshAt}
        WHERE account_id = ${accountId} AND platform = ${platform} AND version = ${version}`,
  );

/** Its grant is over: the person has to connect it again. */
export const moveToDisconnected = (
  db: Db,
  { accountId, platform, version, reason }: ProfileVersion & { reason: string },
): Promise<number> =>
  exec(
    db,
    sql`UPDATE social_profile SET disconnected = ${reason}, refresh_at = NULL
        WHERE account_id = ${accountId} AND platform = ${platform} AND version = ${version}`,
  );
