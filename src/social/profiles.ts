import type { Pool } from 'pg';
import { type Author, recordAudit, systemAuthor } from '../accounts/audit.ts';
import { type Task, untilIdle } from '../core/background.ts';
import type { Platform } from '../core/channels.ts';
import { as, columns, type Db, exec, many, maybeOne, one, type RowOf, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import type { Log } from '../core/log.ts';
import type { Outbound } from '../core/outbound-post.ts';
import { open, type SecretKey, seal } from '../core/secrets.ts';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../core/time.ts';
import { makeThumbnail } from '../media/decoder.ts';
import {
  type Caller,
  callerOf,
  type Grant,
  type Linked,
  type Network,
  NetworkFailure,
  refreshGrant,
  type SocialDeps,
} from './network.ts';
import { NETWORKS } from './networks.ts';

type RefreshDeps = SocialDeps & { readonly pool: Pool; readonly log: Log };

/** Time for which a claimed profile belongs to one worker; a request takes ten seconds at most. */
const LEASE_MS = MINUTE_MS;
/**
 * Number of tries, which take nearly two days: at first after a minute, in the end every six hours.
 */
const MAX_TRIES = 15;
const MAX_WAIT_MS = 6 * HOUR_MS;

/**
 * Renews the tokens of the profile that is due first. If the network reports that the grant has ended, or does not
 * respond for nearly two days, the profile is disconnected.
 *
 * @returns false when none is due
 */
export async function refreshNext(deps: RefreshDeps): Promise<boolean> {
  const now = deps.clock.now();
  await deleteOldStates(deps.pool, { before: now });
  const profile = await claimDueProfile(deps.pool, { now, leaseMs: LEASE_MS });
  if (!profile) return false;
  try {
    await storeNewTokens(deps, profile, await requestNewGrant(deps, profile));
  } catch (error) {
    await recordFailure(deps, profile, error);
  }
  return true;
}

async function requestNewGrant(deps: RefreshDeps, profile: ProfileRow): Promise<Grant> {
  const [network, caller] = [NETWORKS[profile.platform], callerOf(deps, profile.platform)];
  const { access, refresh } = openTokens(deps.secretKey, profile, profile.tokens);
  if (refresh !== null) return refreshGrant(network, caller, refresh);
  if (network.renew) return network.renew(caller, access);
  throw new NetworkFailure('The token has expired, and the network does not renew tokens', { grantEnded: true });
}

/** Stores new tokens before they are used: a network that has issued a new refresh token may reject the old one. */
async function storeNewTokens(
  { pool, secretKey, clock }: RefreshDeps,
  profile: ProfileRow,
  grant: Grant,
): Promise<void> {
  const { linked } = openTokens(secretKey, profile, profile.tokens);
  const { accountId, platform, version } = profile;
  await updateTokens(pool, {
    accountId,
    platform,
    version,
    tokens: sealTokens(secretKey, profile, { access: grant.access, refresh: grant.refresh, linked }),
    tokenExpiresAt: grant.expiresAt,
    refreshAt: refreshAtOf(NETWORKS[platform], grant, clock.now()),
  });
}

async function recordFailure({ pool, log, clock }: RefreshDeps, profile: ProfileRow, error: unknown): Promise<void> {
  const { accountId, platform, version, failures } = profile;
  const reason = error instanceof Error ? error.message : String(error);
  const giveUp = (error instanceof NetworkFailure && error.grantEnded) || failures + 1 >= MAX_TRIES;
  log.warn(
    { accountId, channel: platform, reason },
    giveUp ? 'a social profile was disconnected' : 'a token was not renewed; retrying',
  );
  if (giveUp) return disconnectProfile(pool, { accountId, platform, version, reason });
  const waitMs = Math.min(MAX_WAIT_MS, MINUTE_MS * 2 ** failures);
  await updateFailedRefresh(pool, {
    accountId,
    platform,
    version,
    refreshAt: new Date(clock.now().getTime() + waitMs),
  });
}

const disconnectProfile = (pool: Pool, profile: Parameters<typeof moveToDisconnected>[1]): Promise<void> =>
  transaction(pool, async (tx) => {
    if ((await moveToDisconnected(tx, profile)) === 0) return;
    const { accountId, platform, reason } = profile;
    const subject = `social:${platform}`;
    await recordAudit(tx, systemAuthor(accountId), {
      action: 'social.disconnected',
      subject,
      detail: { platform, reason },
    });
  });

/**
 * Returns the time at which a grant is to be renewed: the lead time of the network before its expiry, but not before
 * half of its life. A grant that cannot be renewed is due when it expires. Null: it does not expire.
 */
export function refreshAtOf(network: Network, { expiresAt, refresh }: Grant, now: Date): Date | null {
  if (expiresAt === null) return null;
  const lifeMs = Math.max(0, expiresAt.getTime() - now.getTime());
  const leadMs = refresh !== null || network.renew ? Math.min(network.leadMs, lifeMs / 2) : 0;
  return new Date(expiresAt.getTime() - leadMs);
}

/** The tokens of a profile. They are sent to its network only. */
type Tokens = {
  readonly access: string;
  readonly refresh: string | null;
  /** The tokens of linked pages, by their ids. */
  readonly linked: Readonly<Record<string, string>>;
};

type Place = { readonly accountId: number; readonly platform: Platform };
const tokensContext = ({ accountId, platform }: Place): string => `social_profile.tokens ${accountId} ${platform}`;

/**
 * Encrypts tokens (AES-256-GCM, with the id of the key). They can only be decrypted for the same account and network.
 */
export const sealTokens = (key: SecretKey, place: Place, tokens: Tokens): Buffer =>
  seal(key, JSON.stringify(tokens), tokensContext(place));

/** Decrypts tokens. Throws when they were encrypted with another SECRET_KEY, or for another account or network. */
export function openTokens(key: SecretKey, place: Place, sealed: Uint8Array): Tokens {
  const tokens: Tokens = JSON.parse(open(key, sealed, tokensContext(place)).toString());
  return tokens;
}

export type PictureDeps = { readonly outbound: Pick<Outbound, 'fetchPicture'>; readonly log: Log };

const MAX_BYTES = 1024 * 1024;

/**
 * Copies the picture of a profile, because the URLs of networks expire. The URL that a network names is not trusted: it
 * is fetched like the URL of a webhook, with at most 1 MiB, decoded in a separate process, and encoded again as a JPEG
 * of at most 320 by 320. Resolves with null if there is none; a picture that cannot be copied does not keep the profile
 * from being connected.
 */
export async function copyPicture(
  { outbound, log }: PictureDeps,
  { web, simulated }: Pick<Caller, 'web' | 'simulated'>,
  { accountId, url }: { readonly accountId: number; readonly url: string | null },
): Promise<Buffer | null> {
  if (url === null) return null;
  try {
    const response =
      simulated === null
        ? await outbound.fetchPicture(url, { method: 'GET', headers: { accept: 'image/jpeg, image/png' } })
        : await web.fetch(web.at(url), {});
    if (!response.ok) throw new Error(`status ${response.status}`);
    const octets = Buffer.from(await response.arrayBuffer());
    if (octets.length > MAX_BYTES) throw new Error('too long');
    return await makeThumbnail(octets, accountId);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    log.warn({ accountId, reason }, 'the picture of a social profile was not copied');
    return null;
  }
}

/** Renews the tokens of social profiles. Pausable: a copy of the database must not use up tokens of the original. */
export const socialTasks = (deps: RefreshDeps): Task[] => [
  { name: 'social profiles', pausable: true, work: untilIdle(() => refreshNext(deps), 30 * SECOND_MS) },
];

type Of = { readonly accountId: number };
type One = Of & { readonly platform: Platform };

const CONNECT_STATE = columns({
  /** The SHA-256 of the value in the URL. */
  hash: as<Buffer>('s.hash'),
  accountId: as<number>('s.account_id'),
  platform: as<Platform>('s.platform'),
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

const deleteOldStates = (db: Db, { before }: { before: Date }): Promise<number> =>
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

type NewProfile = Omit<ProfileRow, 'hasPicture' | 'version' | 'failures' | 'disconnected' | 'connectedAt'> & {
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
const claimDueProfile = (db: Db, { now, leaseMs }: { now: Date; leaseMs: number }): Promise<ProfileRow | undefined> =>
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
const updateTokens = (
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
const updateFailedRefresh = (
  db: Db,
  { accountId, platform, version, refreshAt }: ProfileVersion & { refreshAt: Date },
): Promise<number> =>
  exec(
    db,
    sql`UPDATE social_profile SET failures = failures + 1, refresh_at = ${refreshAt}
        WHERE account_id = ${accountId} AND platform = ${platform} AND version = ${version}`,
  );

/** Marks a profile as disconnected, because its grant has ended: the person must connect it again. */
const moveToDisconnected = (
  db: Db,
  { accountId, platform, version, reason }: ProfileVersion & { reason: string },
): Promise<number> =>
  exec(
    db,
    sql`UPDATE social_profile SET disconnected = ${reason}, refresh_at = NULL
        WHERE account_id = ${accountId} AND platform = ${platform} AND version = ${version}`,
  );
