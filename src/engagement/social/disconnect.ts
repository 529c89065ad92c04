import type { Pool } from 'pg';
import { recordAudit } from '../../identity/audit/record.ts';
import { tenant, tenantTransaction } from '../../platform/db/tenant.ts';
import { AppError } from '../../platform/errors.ts';
import type { Actor } from '../../platform/lib/actor.ts';
import type { Log } from '../../platform/lib/log.ts';
import type { Platform } from '../../platform/lib/social-platform.ts';
import { callerOf, type SocialDeps } from './deps.ts';
import { NETWORKS } from './networks/networks.ts';
import { deleteProfile, findProfile, type ProfileRow } from './sql.ts';
import { openTokens } from './tokens.ts';

type DisconnectDeps = SocialDeps & { readonly pool: Pool; readonly log: Log };

/** The message of a 404 for a network at which the account has no profile. */
export const NOT_CONNECTED = 'No profile of this network is connected';

/**
 * Disconnects a profile: revokes the grant at the network, if it can be reached and supports this, and deletes the
 * profile and its tokens in any case. Errors: 404 when there is none.
 */
export async function disconnect(
  deps: DisconnectDeps,
  actor: Actor,
  { platform }: { readonly platform: Platform },
): Promise<void> {
  const { accountId } = actor;
  const profile = await findProfile(tenant(deps.pool, actor), { accountId, platform });
  if (!profile) throw new AppError('not_found', { message: NOT_CONNECTED });
  const revoked = await revoke(deps, profile);
  await tenantTransaction(deps.pool, actor, async (tx) => {
    await deleteProfile(tx, { accountId, platform });
    const detail = { platform, revoked };
    await recordAudit(tx, actor, { action: 'social.disconnect', subject: `social:${platform}`, detail });
  });
}

/** Revokes the grant of a profile. Returns true if the network has revoked it. */
async function revoke(deps: DisconnectDeps, profile: ProfileRow): Promise<boolean> {
  const network = NETWORKS[profile.platform];
  if (!network.revoke) return false;
  try {
    const tokens = openTokens(deps.secretKey, profile, profile.tokens);
    await network.revoke(callerOf(deps, profile.platform), { ...tokens, externalId: profile.externalId });
    return true;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    deps.log.warn({ accountId: profile.accountId, channel: profile.platform, reason }, 'a grant was not revoked');
    return false;
  }
}
