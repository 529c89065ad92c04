import { timingSafeEqual } from 'node:crypto';
import type { Pool } from 'pg';
import { recordAudit } from '../../identity/audit/record.ts';
import { tenantTransaction } from '../../platform/db/tenant.ts';
import { AppError } from '../../platform/errors.ts';
import { missingScopes, type Platform } from '../../platform/lib/social-platform.ts';
import { open } from '../../platform/lib/secret-box.ts';
import { hashOf, verifierContext } from './begin.ts';
import { callerOf, redirectUriOf, type SocialDeps } from './deps.ts';
import { exchangeCode } from './networks/grant.ts';
import type { Caller, Grant, Network, Profile } from './networks/network.ts';
import { NETWORKS } from './networks/networks.ts';
import { NetworkFailure } from './networks/web.ts';
import { copyPicture, type PictureDeps } from './picture.ts';
import { refreshAtOf } from './refresh-at.ts';
import { loggedParameters, type Refusal, refusalIn } from './refusal.ts';
import { deleteState, insertProfile, type ConnectState } from './sql.ts';
import { sealTokens } from './tokens.ts';

export type FinishDeps = SocialDeps & PictureDeps & { readonly pool: Pool };

/** The result of a connection: the profile is stored, or the network or the person declined. */
export type Finished =
  | { readonly ok: true; readonly linkedFault: string | null }
  | { readonly ok: false; readonly refusal: Refusal };

type Returned = {
  readonly platform: Platform;
  /** The query with which the network sent the person back. */
  readonly parameters: URLSearchParams;
  /** The secret in the cookie of the browser. */
  readonly browserSecret: string | null;
};

/**
 * Finishes a connection that `beginConnection` started: checks and consumes its state, exchanges the code for tokens,
 * and stores the profile, replacing an earlier one. A refusal is logged with the network's message, which is trusted
 * only because the state was valid: without a valid state, anyone could have written it. Errors: 400 when the state is
 * unknown, for another network or browser, used or expired; 502 when the network fails.
 */
export async function finishConnection(deps: FinishDeps, returned: Returned): Promise<Finished> {
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
  const refused = (refusal: Refusal): Finished => {
    const { accountId } = state;
    const { reason, words, scopes } = refusal;
    const response = loggedParameters(parameters);
    deps.log.warn({ accountId, channel: platform, reason, words, scopes, response }, 'a network granted no profile');
    return { ok: false, refusal };
  };
  const answer = refusalIn(parameters);
  if (answer) return refused(answer);
  const fetched = await withBadGatewayErrors(network, () => fetchProfile(network, caller, said));
  const lack = lackOf(network, fetched);
  if (lack) return refused(lack);
  const { linkedFault } = fetched.profile;
  if (linkedFault !== null)
    deps.log.warn({ accountId: state.accountId, channel: platform, words: linkedFault }, 'a network listed nothing');
  const { accountId } = state;
  const picture = await copyPicture(deps, caller, { accountId, url: fetched.profile.pictureUrl });
  await storeProfile(deps, state, { ...fetched, picture, sandbox: caller.simulated !== null });
  return { ok: true, linkedFault };
}

async function consumeState({ pool, clock }: FinishDeps, returned: Returned): Promise<ConnectState> {
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

type Fetched = { readonly grant: Grant; readonly profile: Profile };
type CodeResponse = Parameters<typeof exchangeCode>[2];

async function fetchProfile(network: Network, caller: Caller, said: CodeResponse): Promise<Fetched> {
  const short = await exchangeCode(network, caller, said);
  const grant = network.exchangeForLongLived ? await network.exchangeForLongLived(caller, short) : short;
  return { grant, profile: await network.fetchProfile(caller, grant) };
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

/** Returns the scopes or pages that a grant lacks, since people can deselect them; null if none. Errors: 502. */
function lackOf({ platform, label, needsPages }: Network, { grant, profile }: Fetched): Refusal | null {
  const missing = missingScopes(platform, grantedScopes({ grant, profile }));
  if (missing.length > 0) return { reason: 'scopes_missing', words: '', scopes: missing };
  if (profile.externalId === '')
    throw new AppError('bad_gateway', { message: `${label}: the response has no profile` });
  if (needsPages && profile.linked.length === 0)
    return { reason: 'no_page', words: profile.linkedFault ?? '', scopes: [] };
  return null;
}

type Copied = Fetched & { readonly picture: Buffer | null; readonly sandbox: boolean };

async function storeProfile(deps: FinishDeps, state: ConnectState, fetched: Copied): Promise<void> {
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
      picture: fetched.picture,
      sandbox: fetched.sandbox,
      linked: [...profile.linked],
      linkedFault: profile.linkedFault,
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
