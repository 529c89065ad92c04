import { Type } from 'typebox';
import { AppError } from '../../platform/errors.ts';
import type { PlatformDeps, App } from '../../platform/http/app.ts';
import { ErrorOut, ref } from '../../platform/http/schema.ts';
import { isPlatform } from '../../platform/lib/social-platform.ts';
import { resultPage, isBrowser, PAGE_POLICY } from './callback-page.ts';
import { browserSecretIn } from './cookie.ts';
import { type Finished, finishConnection } from './finish.ts';
import type { Network } from './networks/network.ts';
import { NETWORKS } from './networks/networks.ts';
import type { PictureDeps } from './picture.ts';
import { explain } from './refusal.ts';
import { PlatformParams } from './schema.ts';

export type SocialCallbackDeps = PlatformDeps & Pick<PictureDeps, 'outbound'>;

/**
 * Registers the route to which networks send people back. The state in the query is the credential, and
 * is valid once.
 */
export function socialCallbackRoutes(app: App, deps: SocialCallbackDeps): void {
  app.get('/oauth/:platform/callback', {
    schema: {
      tags: ['Social profiles'],
      security: [],
      operationId: 'finishSocial',
      summary: 'Finish connecting a profile',
      description: 'For the browser of the person, which the network sends here.',
      params: PlatformParams,
      response: { 200: pageOut('The profile is connected.'), ...NOT_CONNECTED },
    },
    handler: async ({ params: { platform }, raw, headers, log }, reply) => {
      if (!isPlatform(platform)) throw new AppError('not_found');
      // The raw query: a parameter that occurs twice must be seen twice.
      const parameters = new URL(raw.url ?? '/', 'http://localhost').searchParams;
      reply.header('referrer-policy', 'no-referrer');
      const returned = { platform, parameters, browserSecret: browserSecretIn(headers.cookie) };
      const network = NETWORKS[platform];
      const finished = await finishConnection(deps, returned).catch(toAppError);
      if (!isBrowser(headers.accept)) throwFault(network, finished);
      if (finished instanceof AppError) log.warn({ err: finished, channel: platform }, 'a profile was not connected');
      reply
        .code(finished instanceof AppError ? finished.status : finished.ok ? 200 : 400)
        .type('text/html; charset=utf-8')
        .header('content-security-policy', PAGE_POLICY);
      return resultPage(network, finished, headers['accept-language']);
    },
  });
}

const pageOut = (description: string) => ({
  description,
  content: { 'text/html': { schema: Type.String(), example: '<!doctype html><title>LinkedIn</title>…' } },
});
const notConnected = {
  description: 'The reason why the profile is not connected: a page for browsers, the usual error for other clients.',
  content: {
    'text/html': { schema: Type.String(), example: '<!doctype html><title>LinkedIn</title>…' },
    'application/json': { schema: ref(ErrorOut) },
  },
};
const NOT_CONNECTED = { 400: notConnected, 404: notConnected, 502: notConnected };

/** Throws, for programs, the reason why nothing was connected. */
function throwFault(network: Network, finished: Finished | AppError): void {
  if (finished instanceof AppError) throw finished;
  if (finished.ok) return;
  const { words } = finished.refusal;
  const quoted = words === '' ? '' : ` ${network.label} says: ${words}`;
  throw new AppError('invalid', { message: `${explain(network, finished.refusal, 'en')}${quoted}` });
}

function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  throw error;
}
