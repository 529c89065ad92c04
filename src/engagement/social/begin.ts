import { createHash, randomBytes } from 'node:crypto';
import { calculatePKCECodeChallenge, generateRandomCodeVerifier } from 'oauth4webapi';
import type { Db } from '../../platform/db/query.ts';
import type { Actor } from '../../platform/lib/actor.ts';
import type { Platform } from '../../platform/lib/social-platform.ts';
import { seal } from '../../platform/lib/secret-box.ts';
import { callerOf, redirectUriOf, type SocialDeps } from './deps.ts';
import { authorizeUrl } from './networks/grant.ts';
import { NETWORKS } from './networks/networks.ts';
import { insertState } from './sql.ts';
import { SECOND_MS } from '../../platform/lib/time.ts';

/** Lifetime in seconds of a started connection and of its cookie. */
export const STATE_SECONDS = 600;
const RANDOM_BYTES = 32;

const newSecret = (): string => randomBytes(RANDOM_BYTES).toString('base64url');
/** Returns the SHA-256 of a secret, which is stored instead of it. */
export const hashOf = (secret: string): Buffer => createHash('sha256').update(secret).digest();

/** The context to which the encryption of a verifier is bound. */
export const verifierContext = (hash: Buffer): string => `social_state.verifier ${hash.toString('hex')}`;

export type StartedConnection = {
  readonly authorizeUrl: string;
  /** Secret for a cookie of the browser that starts: the callback requires it from the same browser. Null for a key. */
  readonly browserSecret: string | null;
};

/**
 * Starts to connect a profile: the person opens the returned URL and consents there. Its state is valid for ten minutes
 * and one use, and is bound to the author, the account, the network and, if a person asks, to the browser. Call it in a
 * transaction. Errors: 502 when the network is not configured.
 */
export async function beginConnection(
  deps: SocialDeps,
  tx: Db,
  actor: Actor,
  { platform }: { readonly platform: Platform },
): Promise<StartedConnection> {
  const [network, caller] = [NETWORKS[platform], callerOf(deps, platform)];
  const { accountId, kind, keyId, userId, username } = actor;
  const [state, browserSecret] = [newSecret(), kind === 'key' ? null : newSecret()];
  const [hash, verifier] = [hashOf(state), network.pkce ? generateRandomCodeVerifier() : null];
  await insertState(tx, {
    accountId,
    platform,
    hash,
    author: { kind, keyId, userId, username },
    browserHash: browserSecret === null ? null : hashOf(browserSecret),
    verifier: verifier === null ? null : seal(deps.secretKey, verifier, verifierContext(hash)),
    expiresAt: new Date(deps.clock.now().getTime() + STATE_SECONDS * SECOND_MS),
  });
  const challenge = verifier === null ? null : await calculatePKCECodeChallenge(verifier);
  const redirectUri = redirectUriOf(deps, platform);
  return { authorizeUrl: authorizeUrl(network, caller, { state, redirectUri, challenge }), browserSecret };
}
