import { Type } from 'typebox';
import { AppError } from '../../platform/errors.ts';
import type { PlatformDeps, App } from '../../platform/http/app.ts';
import { isPlatform } from '../../platform/lib/social-platform.ts';
import { resultPage, isBrowser, PAGE_POLICY } from './callback-page.ts';
import { browserSecretIn } from './cookie.ts';
import { finishConnection } from './finish.ts';
import { NETWORKS } from './networks/networks.ts';
import { PlatformParams } from './schema.ts';

/**
 * Registers the route of contract 11 to which networks send people back. The state in the query is the credential, and
 * is valid once.
 */
export function socialCallbackRoutes(app: App, deps: PlatformDeps): void {
  app.get('/oauth/:platform/callback', {
    schema: {
      tags: ['Social profiles'],
      security: [],
      operationId: 'finishSocial',
      summary: 'Finish connecting a profile',
      description: 'For the browser of the person, which the network sends here.',
      params: PlatformParams,
      response: { 200: pageOut('The profile is connected.'), '4xx': NOT_CONNECTED, '5xx': NOT_CONNECTED },
    },
    handler: async ({ params: { platform }, raw, headers, log }, reply) => {
      if (!isPlatform(platform)) throw new AppError('not_found');
      // The raw query: a parameter that occurs twice must be seen twice.
      const parameters = new URL(raw.url ?? '/', 'http://localhost').searchParams;
      reply.headers({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' });
      const returned = { platform, parameters, browserSecret: browserSecretIn(headers.cookie) };
      const error = await finishConnection(deps, returned).then(() => null, toAppError);
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
  'The reason why the profile is not connected: a page for browsers, the usual error for other clients.',
);

function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  throw error;
}
