import type { Pool } from 'pg';
import { recordAudit, systemAuthor } from '../../identity/audit/record.ts';
import { transaction } from '../../platform/db/transaction.ts';
import type { Log } from '../../platform/lib/log.ts';
import { callerOf, type SocialDeps } from './deps.ts';
import { refreshGrant } from './networks/grant.ts';
import type { Grant } from './networks/network.ts';
import { NETWORKS } from './networks/networks.ts';
import { NetworkFailure } from './networks/web.ts';
import { refreshAtOf } from './refresh-at.ts';
import {
  claimDueProfile,
  deleteOldStates,
  moveToDisconnected,
  updateFailedRefresh,
  updateTokens,
  type ProfileRow,
} from './sql.ts';
import { openTokens, sealTokens } from './tokens.ts';
import { HOUR_MS, MINUTE_MS } from '../../platform/lib/time.ts';

export type RefreshDeps = SocialDeps & { readonly pool: Pool; readonly log: Log };

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
