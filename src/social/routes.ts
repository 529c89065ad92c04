import { createHash, randomBytes } from 'node:crypto';
import { calculatePKCECodeChallenge, generateRandomCodeVerifier } from 'oauth4webapi';
import type { Pool } from 'pg';
import { type Static, Type } from 'typebox';
import { recordAudit } from '../accounts/audit.ts';
import type { Actor } from '../core/actor.ts';
import { isPlatform, PLATFORMS, type Platform } from '../core/channels.ts';
import type { Db } from '../core/db/query.ts';
import { tenant, tenantTransaction } from '../core/db/transaction.ts';
import { AppError, existing } from '../core/errors.ts';
import { type App, type PlatformDeps, withExamples } from '../core/http/app.ts';
import { requireScope } from '../core/http/auth.ts';
import { readCookie } from '../core/http/browser.ts';
import { idempotentHandler } from '../core/http/idempotency.ts';
import type { Log } from '../core/log.ts';
import { instant, orNull } from '../core/schema.ts';
import { seal } from '../core/secrets.ts';
import { SECOND_MS } from '../core/time.ts';
import { authorizeUrl, callerOf, redirectUriOf, type SocialDeps } from './network.ts';
import { NETWORKS } from './networks.ts';
import {
  deleteProfile,
  findPicture,
  findProfile,
  insertState,
  listProfiles,
  openTokens,
  type ProfileRow,
} from './profiles.ts';

export const PlatformParams = Type.Object({
  platform: Type.String({ description: `One of ${PLATFORMS.join(', ')}.` }),
});

const profileFields = {
  platform: Type.Enum([...PLATFORMS], { type: 'string' }),
  username: orNull(Type.String()),
  profileName: Type.String(),
  pictureUrl: orNull(
    Type.String({
      description: 'URL of our copy of the profile picture, a JPEG of at most 320 by 320. It needs credentials.',
    }),
  ),
  connectedAt: instant(),
  disconnected: Type.Boolean({ description: 'The network no longer renews its tokens: connect it again.' }),
  tokenExpiresAt: orNull(instant()),
  linkedCount: Type.Integer(),
  sandbox: Type.Boolean({ description: 'True if connected to the sandbox instead of the network.' }),
  linkedFault: orNull(
    Type.String({
      description: 'Message of the network if it did not list `linked`; null if it did.',
    }),
  ),
};

const ProfileOut = Type.Object(profileFields);
const ProfileDetailOut = Type.Object({
  ...profileFields,
  linked: Type.Array(
    Type.Object({
      id: Type.String(),
      name: Type.String(),
      type: Type.String({ description: 'PAGE, ORGANISATION or LOCATION.' }),
    }),
    { description: 'Pages, organisations and locations that belong to the profile.' },
  ),
});

const PROFILE_EXAMPLE: Static<typeof ProfileDetailOut> = {
  platform: 'linkedin',
  username: 'ada.example',
  profileName: 'Ada Example',
  pictureUrl: 'https://example.com/ada.png',
  connectedAt: '2027-01-15T09:30:00.000Z',
  disconnected: false,
  tokenExpiresAt: '2027-03-16T09:30:00.000Z',
  linkedCount: 1,
  linkedFault: null,
  sandbox: false,
  linked: [{ id: '2414183', name: 'Acme', type: 'ORGANISATION' }],
};

const ConnectOut = Type.Object({
  authorizeUrl: Type.String({ description: 'URL at which the person consents, within ten minutes.' }),
});

const SOCIALS_PATH = '/api/partner-gateway/v1/socials';

const toProfileOut = (row: ProfileRow, publicUrl: string): Static<typeof ProfileOut> => ({
  platform: row.platform,
  username: row.username,
  profileName: row.profileName,
  // The time makes it another URL when the profile is connected again.
  pictureUrl: row.hasPicture
    ? `${publicUrl}${SOCIALS_PATH}/${row.platform}/picture?v=${row.connectedAt.getTime()}`
    : null,
  connectedAt: row.connectedAt.toISOString(),
  disconnected: row.disconnected !== null,
  tokenExpiresAt: row.tokenExpiresAt?.toISOString() ?? null,
  linkedCount: row.linked.length,
  sandbox: row.sandbox,
  linkedFault: row.linkedFault,
});

const ONE = `${SOCIALS_PATH}/:platform`;
const tags = ['Social profiles'];

/**
 * Registers the routes for profiles at social networks. They need the scope `social`.
 */
export function socialRoutes(app: App, deps: PlatformDeps): void {
  const { pool, config } = deps;
  const onRequest = requireScope('social');

  app.get(SOCIALS_PATH, {
    onRequest,
    schema: {
      tags,
      operationId: 'listSocials',
      summary: 'List connected profiles',
      response: { 200: Type.Array(ProfileOut) },
    },
    handler: async ({ actor }) =>
      (await listProfiles(tenant(pool, actor), actor)).map((row) => toProfileOut(row, config.publicUrl)),
  });

  app.get(ONE, {
    onRequest,
    schema: {
      tags,
      operationId: 'findSocial',
      summary: 'Get the profile at a network, with what is linked to it',
      params: PlatformParams,
      response: { 200: withExamples(ProfileDetailOut, PROFILE_EXAMPLE) },
    },
    handler: async ({ actor: { accountId }, params }) => {
      const profile = await findProfile(tenant(pool, { accountId }), { accountId, platform: platformOf(params) });
      if (!profile) throw new AppError('not_found', { message: NOT_CONNECTED });
      return { ...toProfileOut(profile, config.publicUrl), linked: profile.linked };
    },
  });

  app.get(`${ONE}/picture`, {
    onRequest,
    schema: {
      tags,
      operationId: 'downloadSocialPicture',
      summary: 'Download the picture of a profile',
      params: PlatformParams,
      produces: ['image/jpeg'],
      response: {
        200: Type.Unsafe<Buffer>(
          Type.String({ format: 'binary', description: 'A JPEG of at most 320 by 320.', examples: ['(JPEG)'] }),
        ),
      },
    },
    handler: async ({ actor: { accountId }, params }, reply) => {
      const found = await existing(
        findPicture(tenant(pool, { accountId }), { accountId, platform: platformOf(params) }),
      );
      // Decoded and encoded again by us, so that it contains nothing but pixels.
      reply.headers({ 'content-type': 'image/jpeg', 'cache-control': 'private, max-age=86400' });
      return reply.send(found.picture);
    },
  });

  app.post(`${ONE}/connect`, {
    onRequest,
    config: { secretAnswer: true },
    schema: {
      tags,
      operationId: 'connectSocial',
      summary: 'Start connecting a profile',
      description:
        'Returns the URL at which the person consents. It is valid for ten minutes and one use; when the profile is ' +
        'connected, it replaces an earlier one of the network. If a user asks (Basic), the response sets a cookie, and ' +
        'only the browser with that cookie can finish. A key has no browser: give the URL only to the person whose profile ' +
        'is to be connected. A 502 names settings that are not configured.',
      params: PlatformParams,
      response: { 200: ConnectOut },
    },
    handler: idempotentHandler(deps, async ({ actor, params }, reply, pendingAnswer) => {
      const platform = platformOf(params);
      return tenantTransaction(pool, actor, async (tx) => {
        if (pendingAnswer) await deps.answers.claim(tx, pendingAnswer);
        const { authorizeUrl, browserSecret } = await beginConnection(deps, tx, actor, { platform });
        if (browserSecret !== null) reply.header('set-cookie', cookieOf(browserSecret));
        if (pendingAnswer) await deps.answers.store(tx, pendingAnswer.seal({ authorizeUrl }));
        return { authorizeUrl };
      });
    }),
  });

  app.delete(ONE, {
    onRequest,
    schema: {
      tags,
      operationId: 'disconnectSocial',
      summary: 'Revoke the access at the network and delete the profile',
      params: PlatformParams,
      response: { 204: Type.Null({ description: 'Deleted' }) },
    },
    handler: ({ actor, params }) => disconnect(deps, actor, { platform: platformOf(params) }),
  });
}

/** The network of a path, in any case. */
function platformOf({ platform }: { readonly platform: string }): Platform {
  const name = platform.toLowerCase();
  if (!isPlatform(name)) throw new AppError('not_found', { message: `The networks are ${PLATFORMS.join(', ')}` });
  return name;
}

/** Lifetime in seconds of a started connection and of its cookie. */
const STATE_SECONDS = 600;
const RANDOM_BYTES = 32;

const newSecret = (): string => randomBytes(RANDOM_BYTES).toString('base64url');
/** Returns the SHA-256 of a secret, which is stored instead of it. */
export const hashOf = (secret: string): Buffer => createHash('sha256').update(secret).digest();

/** The context to which the encryption of a verifier is bound. */
export const verifierContext = (hash: Buffer): string => `social_state.verifier ${hash.toString('hex')}`;

type StartedConnection = {
  readonly authorizeUrl: string;
  /** Secret for a cookie of the browser that starts: the callback requires it from the same browser. Null for a key. */
  readonly browserSecret: string | null;
};

/**
 * Starts to connect a profile: the person opens the returned URL and consents there. Its state is valid for ten minutes
 * and one use, and is bound to the author, the account, the network and, if a person asks, to the browser. Call it in a
 * transaction. Errors: 502 when the network is not configured.
 */
async function beginConnection(
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

type DisconnectDeps = SocialDeps & { readonly pool: Pool; readonly log: Log };

/** The message of a 404 for a network at which the account has no profile. */
const NOT_CONNECTED = 'No profile of this network is connected';

/**
 * Disconnects a profile: revokes the grant at the network, if it can be reached and supports this, and deletes the
 * profile and its tokens in any case. Errors: 404 when there is none.
 */
async function disconnect(
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

/** Browsers accept a cookie with this prefix only from this host, over HTTPS (or on the machine itself). */
const NAME = '__Host-heliograph-social';

/**
 * Makes the Set-Cookie header with a secret. SameSite=Lax: the cookie is sent when the network sends the person back,
 * but with no form or script of another site.
 */
const cookieOf = (secret: string): string =>
  `${NAME}=${secret}; Path=/; Max-Age=${STATE_SECONDS}; Secure; HttpOnly; SameSite=Lax`;

/** Reads the secret from the Cookie header of a browser; null if there is none. */
export const browserSecretIn = (header: string | undefined): string | null => readCookie(header, NAME) ?? null;
