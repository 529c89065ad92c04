import type { App } from '../../platform/http/app.ts';
import { isSecure, sessionCookie } from '../../platform/lib/session-cookie.ts';
import { SESSION_SECONDS } from '../sessions/sql.ts';
import { redirectUriOf } from './begin.ts';
import { browserCookie, browserSecretIn } from './cookie.ts';
import { type Finished, finishSignOn } from './finish.ts';
import type { SignOnRouteDeps } from './routes.ts';
import { SignOnFailure } from './settings.ts';
import { Type } from 'typebox';

/** The page of the console with the settings and the result of a trial. */
const SETTINGS_PAGE = '/security/single-sign-on';
/** Page of the console that ends a step-up in a separate window. */
const STEP_UP_PAGE = '/confirmed';

/**
 * Registers the route to which providers send people back, each with the token of its account. The state in the query
 * and the cookie of the browser are the credential, once. Every response redirects to a page of the console.
 */
export function signOnCallbackRoutes(app: App, deps: SignOnRouteDeps): void {
  app.get('/oauth/single-sign-on/callback/:token', {
    schema: {
      tags: ['Sessions'],
      security: [],
      operationId: 'finishSingleSignOn',
      summary: 'Finish signing in with a provider',
      description: 'For the browser of the person, which the provider sends here. Leads to a page of the console.',
      params: Type.Object({ token: Type.String({ description: 'The end of the redirect URI of the account.' }) }),
      response: { 303: Type.Null({ description: 'Signed in, tried or denied.' }) },
    },
    handler: async (request, reply) => {
      const { raw, headers, ip, log, params } = request;
      // The raw query: a parameter that occurs twice must be seen twice.
      const { searchParams: parameters } = new URL(raw.url ?? '/', 'http://localhost');
      const browserSecret = browserSecretIn(headers.cookie);
      const browser = { browserSecret, ip, userAgent: headers['user-agent'] ?? '' };
      const returned = { parameters, redirectUri: redirectUriOf(deps.config, params.token), ...browser };
      const end = await finishSignOn(deps, returned).catch(refused);
      if ('failure' in end)
        log.info({ reason: end.failure.message, code: end.failure.problem }, 'a single sign-on was denied');
      reply.headers({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' });
      const cookies = [browserCookie('', 0)];
      if (end.kind === 'signed in') cookies.push(sessionCookie(end.session.token, SESSION_SECONDS, isSecure(request)));
      return reply.header('set-cookie', cookies).redirect(pageAfter(end), 303);
    },
  });
}

type Refused = { readonly kind: 'not signed in'; readonly failure: SignOnFailure };

function refused(error: unknown): Refused {
  if (!(error instanceof SignOnFailure)) throw error;
  return { kind: 'not signed in', failure: error };
}

function pageAfter(end: Finished | Refused): string {
  switch (end.kind) {
    case 'signed in':
      return end.next;
    case 'not signed in':
      return `/sign-in?problem=${end.failure.problem}`;
    case 'tried':
      return SETTINGS_PAGE;
    case 'stepped up':
      return STEP_UP_PAGE;
    case 'not stepped up':
      return `${STEP_UP_PAGE}?problem=${end.failure.problem}`;
  }
}
