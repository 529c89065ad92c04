import { Type } from 'typebox';
import { tenant, tenantTransaction } from '../../platform/db/tenant.ts';
import { AppError } from '../../platform/errors.ts';
import { requireScope } from '../../platform/http/auth.ts';
import type { PlatformDeps, App } from '../../platform/http/app.ts';
import { idempotentHandler } from '../../platform/http/idempotency.ts';
import { isPlatform, PLATFORMS, type Platform } from '../../platform/lib/social-platform.ts';
import { beginConnection } from './begin.ts';
import { cookieOf } from './cookie.ts';
import { disconnect, NOT_CONNECTED } from './disconnect.ts';
import {
  ConnectOut,
  PlatformParams,
  PROFILE_EXAMPLE,
  ProfileDetailOut,
  ProfileOut,
  SOCIALS_PATH,
  toProfileOut,
} from './schema.ts';
import { findPicture, findProfile, listProfiles } from './sql.ts';
import { withExamples } from '../../platform/http/schema.ts';

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
      const found = await findPicture(tenant(pool, { accountId }), { accountId, platform: platformOf(params) });
      if (!found) throw new AppError('not_found');
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
    handler: async ({ actor, params }, reply) => {
      await disconnect(deps, actor, { platform: platformOf(params) });
      return reply.code(204).send(null);
    },
  });
}

/** The network of a path, in any case. */
function platformOf({ platform }: { readonly platform: string }): Platform {
  const name = platform.toLowerCase();
  if (!isPlatform(name)) throw new AppError('not_found', { message: `The networks are ${PLATFORMS.join(', ')}` });
  return name;
}
