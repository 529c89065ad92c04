import { createHash } from 'node:crypto';
import { calculatePKCECodeChallenge, generateRandomCodeVerifier, generateRandomNonce } from 'oauth4webapi';
import type { Config } from '../../platform/config.ts';
import type { Db } from '../../platform/db/query.ts';
import { seal, type SecretKey } from '../../platform/lib/secret-box.ts';
import type { Outbound } from '../../platform/outbound/outbound.ts';
import { generateToken } from '../sessions/token.ts';
import { authorizationUrl, discover } from './provider.ts';
import { insertState, type SettingsRow } from './sql.ts';

/** Validity of a begun sign-in and of its cookie. */
export const STATE_SECONDS = 600;

export type SignOnDeps = {
  readonly config: Pick<Config, 'publicUrl'>;
  readonly secretKey: SecretKey;
  readonly outbound: Pick<Outbound, 'signOn'>;
};

/**
 * Returns the URL to which the provider of the account with this token sends people back; exactly this URL must be
 * registered there. No two accounts share one, so that a response of one provider cannot pass for that of another.
 */
export const redirectUriOf = ({ publicUrl }: Pick<Config, 'publicUrl'>, token: string): string =>
  `${publicUrl}/oauth/single-sign-on/callback/${token}`;

/** Returns the SHA-256 of a secret, which is stored instead of it. */
export const hashOf = (secret: string): Buffer => createHash('sha256').update(secret).digest();

/** The context to which the encryption of nonce and verifier is bound. */
export const secretsContext = (hash: Buffer): string => `single_sign_on_state.secrets ${hash.toString('hex')}`;

export type Begun = {
  /** Address of the provider's sign-in page. */
  readonly authorizeUrl: string;
  /** For a cookie of the browser: the callback requires it from the same browser. */
  readonly browserSecret: string;
};

/** Purpose of a sign-in at the provider: to sign in here, to try the settings, or to prove a session. */
type Purpose = {
  /** The page of the console to continue with, a path. */
  readonly next: string;
  readonly isTrial: boolean;
  /** The session that is to be proven; the person must then sign in at the provider, even if they are signed in there. */
  readonly sessionId: number | null;
};

/**
 * Begins a sign-in with the provider of an account. Its state is valid for ten minutes, one use and one browser.
 * Rejects with a SignOnFailure when the provider does not respond as it should.
 */
export async function beginSignOn(
  { config, secretKey, outbound }: SignOnDeps,
  db: Db,
  settings: SettingsRow,
  { next, isTrial, sessionId }: Purpose,
): Promise<Begun> {
  const provider = await discover(outbound.signOn.fetch, settings.issuer);
  const [{ token: state, hash }, browser] = [generateToken(), generateToken()];
  const [nonce, verifier] = [generateRandomNonce(), generateRandomCodeVerifier()];
  const { accountId, version, token } = settings;
  const redirectUri = redirectUriOf(config, token);
  await insertState(db, {
    hash,
    accountId,
    browserHash: browser.hash,
    secrets: seal(secretKey, JSON.stringify({ nonce, verifier }), secretsContext(hash)),
    next,
    isTrial,
    sessionId,
    version,
    redirectUri,
    validSeconds: STATE_SECONDS,
  });
  const challenge = await calculatePKCECodeChallenge(verifier);
  const authorizeUrl = authorizationUrl(provider, settings, {
    redirectUri,
    state,
    nonce,
    challenge,
    isFresh: sessionId !== null,
  });
  return { authorizeUrl, browserSecret: browser.token };
}

/** The path to continue with: only pages of the console, never another site. */
export const ownPath = (path: string | undefined): string =>
  path !== undefined && path.length <= 2000 && /^\/(?![/\\])[\x21-\x7e]*$/.test(path) ? path : '/';
