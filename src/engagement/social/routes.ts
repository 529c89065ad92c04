import { Type } from 'typebox';
import { tenant, tenantTransaction } from '../../platform/db/tenant.ts';
import { AppError } from '../../platform/errors.ts';
import { requireScope } from '../../platform/http/auth.ts';
import type { PlatformDeps, App } from '../../platform/http/app.ts';
import { idempotentHandler } from '../../platform/http/idempotency.ts';
import { isPlatform, type Platform } from '../../platform/lib/social-platform.ts';
import { beginConnection } from './begin.ts';
import { cookieOf } from './cookie.ts';
import { disconnect } from './disconnect.ts';
import { ConnectOut, PlatformParams, ProfileDetailOut, ProfileOut, toProfileOut } from './schema.ts';
import { findProfile, listProfiles } from './sql.ts';

const PATH = '/api/partner-gateway/v1/socials';
const ONE = `${PATH}/:platform`;
const tags = ['Social profiles'];

/**
 * Registers the routes of contract 11: profiles at social networks. Connecting one requires the scope `keys`, because
 * both give access to others.
 */
export function socialRoutes(app: App, deps: PlatformDeps): void {
  const { pool } = deps;
  const onRequest = requireScope('keys');

  app.get(PATH, {
    schema: {
      tags,
      operationId: 'listSocials',
      summary: 'List connected profiles',
      response: { 200: Type.Array(ProfileOut) },
    },
    handler: async ({ actor }) => (await listProfiles(tenant(pool, actor), actor)).map(toProfileOut),
  });

  app.get(ONE, {
    schema: {
      tags,
      operationId: 'findSocial',
      summary: 'Get the profile at a network, with what is linked to it',
      params: PlatformParams,
      response: { 200: ProfileDetailOut },
    },
    handler: async ({ actor: { accountId }, params }) => {
      const profile = await findProfile(tenant(pool, { accountId }), { accountId, platform: platformOf(params) });
      if (!profile) throw new AppError('not_found');
      return { ...toProfileOut(profile), linked: profile.linked };
    },
  });

  app.post(`${ONE}/connect`, {
    onRequest,
    schema: {
      tags,
      operationId: 'connectSocial',
      summary: 'Start connecting a profile',
      description:
        'Returns the URL at which the person consents. It is valid for ten minutes and one use; when the profile is ' +
        'connected, it replaces an earlier one of the network. If a person asks (Basic), the response sets a cookie, and ' +
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

function platformOf({ platform }: { readonly platform: string }): Platform {
  if (!isPlatform(platform)) throw new AppError('not_found');
  return platform;
}
