import { Type } from 'typebox';
import { AppError } from '../../platform/errors.ts';
import type { PlatformDeps, App } from '../../platform/http/app.ts';
import { isPlatform } from '../../platform/lib/social-platform.ts';
import { resultPage, isBrowser, PAGE_POLICY } from './callback-page.ts';
import { browserSecretIn } from './cookie.ts';
import { finishConnection } from './finish.ts';
import { NETWORKS } from './networks/networks.ts';
import { PlatformParams } from './schema.ts';

/** Contract 11: where networks send people back to. The state in the query is the credential, and good for one use. */
export function socialCallbackRoutes(app: App, deps: PlatformDeps): void {
  app.get('/oauth/:platform/callback', {
    schema: {
      tags: ['Social profiles'],
      security: [],
      operationId: 'finishSocial',
      summary: 'The end of connecting a profile, for the browser of the person',
      params: PlatformParams,
      response: { 200: pageOut('That it is connected.'), '4xx': NOT_CONNECTED, '5xx': NOT_CONNECTED },
    },
    handler: async ({ params: { platform }, raw, headers, log }, reply) => {
      if (!isPlatform(platform)) throw new AppError('not_found');
      // As it was written: what is said twice must be seen twice.
      const parameters = new URL(raw.url ?? '/', 'http://localhost').searchParams;
      reply.headers({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' });
      const coming = { platform, parameters, browserSecret: browserSecretIn(headers.cookie) };
      const error = await finishConnection(deps, coming).then(() => null, toAppError);
      if (error && !isBrowser(headers.accept)) throw error;
      if (error) log.warn({ err: error, channel: platform }, 'a profile was not connected');
      reply
        .code(error?.status ?? 200)
        .type('text/html; charset=utf-8')
        .header('content-security-policy', PAGE_POLICY);
      return resultPage(NETWORKS[platform].label, error?.message ?? null, headers['accept-language']);
    },
  });
}

const pageOut = (description: string) => ({ description, content: { 'text/html': { schema: Type.String() } } });
const NOT_CONNECTED = pageOut(
  'Why it is not connected, for who asks for pages; for all others an error as everywhere.',
);

function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  throw error;
}
