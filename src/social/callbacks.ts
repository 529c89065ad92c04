import { Type } from 'typebox';
import { AppError } from '../errors.ts';
import type { ApiDeps, App } from '../http/deps.ts';
import { isPlatform } from '../lib/platform.ts';
import { connectedPage, PAGE_POLICY } from './callback-page.ts';
import { browserSecretIn } from './cookie.ts';
import { finishConnection } from './finish.ts';
import { NETWORKS } from './networks/networks.ts';
import { PlatformParams } from './schema.ts';

/** Contract 11: where networks send people back to. The state in the query is the credential, and good for one use. */
export function socialCallbackRoutes(app: App, deps: ApiDeps): void {
  app.get('/oauth/:platform/callback', {
    schema: {
      ...{ tags: ['Social profiles'], security: [], operationId: 'finishSocial' },
      summary: 'The end of connecting a profile, for the browser of the person',
      params: PlatformParams,
      response: { 200: Type.String({ description: 'That it is connected.' }) },
    },
    handler: async ({ params: { platform }, raw, headers }, reply) => {
      if (!isPlatform(platform)) throw new AppError('not_found');
      // As it was written: what is said twice must be seen twice.
      const parameters = new URL(raw.url ?? '/', 'http://localhost').searchParams;
      reply.headers({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' });
      await finishConnection(deps, { platform, parameters, browserSecret: browserSecretIn(headers.cookie) });
      reply.type('text/html; charset=utf-8').header('content-security-policy', PAGE_POLICY);
      return connectedPage(NETWORKS[platform].label, headers['accept-language']);
    },
  });
}
