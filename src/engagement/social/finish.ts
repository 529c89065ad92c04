import { timingSafeEqual } from 'node:crypto';
import type { Pool } from 'pg';
import { recordAudit } from '../../identity/audit/record.ts';
import { tenantTransaction } from '../../platform/db/tenant.ts';
import { AppError } from '../../platform/errors.ts';
import type { Platform } from '../../platform/lib/social-platform.ts';
import { open } from '../../platform/lib/secret-box.ts';
import { hashOf, verifierContext } from './begin.ts';
import { callerOf, redirectUriOf, type SocialDeps } from './deps.ts';
import { exchangeCode } from './networks/grant.ts';
import type { Caller, Grant, Network, Profile } from './networks/network.ts';
import { NETWORKS } from './networks/networks.ts';
import { NetworkFailure } from './networks/web.ts';
import { refreshAtOf } from './refresh-at.ts';
import { deleteState, insertProfile, type ConnectState } from './sql.ts';
import { sealTokens } from './tokens.ts';

type Returned = {
  readonly platform: Platform;
  /** The query with which the network sent the person back. */
  readonly parameters: URLSearchParams;
  /** The secret in the cookie of the browser. */
  readonly browserSecret: string | null;
};

/**
 * Finishes a connection that `beginConnection` started: checks and consumes its state, exchanges the code for tokens,
 * and stores the profile, in place of an earlier one.
 * Errors: 400 when the state is unknown, for another network or browser, used or expired, when the person refused, or
 * when scopes or pages are missing; 502 when the network fails.
 */
export async function finishConnection(deps: SocialDeps & { pool: Pool }, returned: Returned): Promise<void> {
  const { platform, parameters } = returned;
  const state = await consumeState(deps, returned);
  const [network, caller] = [NETWORKS[platform], callerOf(deps, platform)];
  const verifier =
    state.verifier === null ? null : open(deps.secretKey, state.verifier, verifierContext(state.hash)).toString();
  const said = {
    parameters,
    state: parameters.get('state') ?? '',
    redirectUri: redirectUriOf(deps, platform),
    verifier,
  };
  refuseErrorResponse(network, parameters);
  const { grant, profile } = await withBadGatewayErrors(network, () => fetchProfile(network, caller, said));
  refuseMissingScopes(network, grant, profile);
  await storeProfile(deps, state, { grant, profile });
}

async function consumeState({ pool, clock }: SocialDeps & { pool: Pool }, returned: Returned): Promise<ConnectState> {
  const given = returned.parameters.getAll('state');
  const state = given.length === 1 ? await deleteState(pool, { hash: hashOf(String(given[0])) }) : undefined;
  const ours =
    state?.platform === returned.platform &&
    state.expiresAt > clock.now() &&
    isSameBrowser(state.browserHash, returned.browserSecret);
  if (!state || !ours)
    throw new AppError('invalid', {
      message: 'This sign-in was not started here, or has expired: connect the profile again',
    });
  return state;
}

const isSameBrowser = (hash: Buffer | null, secret: string | null): boolean =>
  hash === null || (secret !== null && timingSafeEqual(hash, hashOf(secret)));

/**
 * Refuses an error response; mostly the person has cancelled. Nothing of the query is shown, because anybody can write
 * it.
 * Errors: 400.
 */
function refuseErrorResponse({ label }: Network, parameters: URLSearchParams): void {
  if (parameters.has('error'))
    throw new AppError('invalid', { message: `${label} did not grant access: connect the profile again to retry` });
}

type Fetched = { readonly grant: Grant; readonly profile: Profile };
type CodeResponse = Parameters<typeof exchangeCode>[2];

async function fetchProfile(network: Network, caller: Caller, said: CodeResponse): Promise<Fetched> {
  const short = await exchangeCode(network, caller, said);
  const grant = network.exchangeForLongLived ? await network.exchangeForLongLived(caller, short) : short;
  return { grant, profile: await network.fetchProfile(caller, grant.access) };
}

async function withBadGatewayErrors<T>({ label }: Network, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof NetworkFailure)) throw error;
    throw new AppError('bad_gateway', { message: `${label}: ${error.message}` });
  }
}

const grantedScopes = ({ grant, profile }: Fetched): readonly string[] => profile.scopes ?? grant.scopes;

/** Refuses a grant without the required scopes or pages: people can deselect them. Errors: 400, 502. */
function refuseMissingScopes(network: Network, grant: Grant, profile: Profile): void {
  const scopes = grantedScopes({ grant, profile });
  const missing = network.requiredScopes.filter((scope) => !scopes.includes(scope));
  if (missing.length > 0)
    throw new AppError('invalid', {
      message: `${network.label} did not grant ${missing.join(', ')}: connect the profile again`,
    });
  if (profile.externalId === '')
    throw new AppError('bad_gateway', { message: `${network.label}: the response has no profile` });
  if (network.platform === 'facebook' && profile.linked.length === 0)
    throw new AppError('invalid', { message: 'No page was granted: select at least one when connecting' });
}

async function storeProfile(deps: SocialDeps & { pool: Pool }, state: ConnectState, fetched: Fetched): Promise<void> {
  const { accountId, platform, author } = state;
  const { grant, profile } = fetched;
  const tokens = { access: grant.access, refresh: grant.refresh, linked: profile.linkedTokens };
  await tenantTransaction(deps.pool, { accountId }, async (tx) => {
    await insertProfile(tx, {
      accountId,
      platform,
      externalId: profile.externalId,
      username: profile.username,
      profileName: profile.name,
      pictureUrl: profile.pictureUrl,
      linked: [...profile.linked],
      scopes: [...grantedScopes(fetched)],
      tokens: sealTokens(deps.secretKey, state, tokens),
      tokenExpiresAt: grant.expiresAt,
      refreshAt: refreshAtOf(NETWORKS[platform], grant, deps.clock.now()),
      connectedBy: author.userId,
    });
    const detail = { platform, profile: profile.name, linked: profile.linked.length };
    await recordAudit(
      tx,
      { accountId, ...author },
      { action: 'social.connect', subject: `social:${platform}`, detail },
    );
  });
}
