import { campaignRoutes } from '../engagement/campaigns/routes.ts';
import { importRoutes } from '../engagement/contacts/imports/routes.ts';
import { listRoutes } from '../engagement/contacts/lists/routes.ts';
import { contactRoutes } from '../engagement/contacts/routes.ts';
import { inboxRoutes } from '../engagement/inbox/routes.ts';
import { socialCallbackRoutes } from '../engagement/social/callbacks.ts';
import { socialRoutes } from '../engagement/social/routes.ts';
import { securityRoutes } from '../identity/accounts/security/routes.ts';
import { apiKeyRoutes } from '../identity/api-keys/routes.ts';
import { auditRoutes } from '../identity/audit/routes.ts';
import { sessionRoutes, signInRoutes } from '../identity/sessions/routes.ts';
import { userRoutes } from '../identity/users/routes.ts';
import { fileRoutes } from '../media/files/routes.ts';
import { mediaRoutes } from '../media/routes.ts';
import { callbackRoutes } from '../messaging/callbacks/callbacks.ts';
import { richMessageRoutes } from '../messaging/sending/rich/routes.ts';
import { sendingRoutes } from '../messaging/sending/routes.ts';
import { trackingRoutes } from '../messaging/tracking/routes.ts';
import { deliveryRoutes } from '../messaging/webhooks/deliveries/routes.ts';
import { webhookRoutes } from '../messaging/webhooks/routes.ts';
import { creditRoutes } from '../money/credit/routes.ts';
import { senderRoutes } from '../network/senders/routes.ts';
import { templateRoutes } from '../network/templates/routes.ts';
import { operatorRoutes } from '../operations/operator/routes.ts';
import { subscriptionRoutes } from '../operations/subscription/routes.ts';
import type { App } from '../platform/http/app.ts';
import { authentication } from '../platform/http/auth.ts';
import { createConsole } from '../platform/http/console.ts';
import { docsRoutes } from '../platform/http/docs.ts';
import { healthRoutes } from '../platform/http/health.ts';
import { acceptIdempotencyKeys } from '../platform/http/idempotency.ts';
import { describeApi } from '../platform/http/openapi.ts';
import { createServer } from '../platform/http/server.ts';
import { exportFileRoutes, exportRoutes } from '../reporting/exports/routes.ts';
import { historyRoutes } from '../reporting/history/routes.ts';
import { overviewRoutes } from '../reporting/overview/routes.ts';
import { statsRoutes } from '../reporting/stats/routes.ts';
import type { ApiDeps } from './deps.ts';

/**
 * Builds the whole API on one Fastify server: this is the list of all routes of the program. The server does not listen
 * yet. Building it takes no query, so the OpenAPI file can be generated without a database.
 */
export function buildApi(deps: ApiDeps): App {
  const console = createConsole(deps.config);
  const app = createServer(deps, console.pages);
  describeApi(app);
  app.register(async (open: App) => {
    healthRoutes(open, deps);
    docsRoutes(open);
    console.routes(open);
    callbackRoutes(open, deps);
    socialCallbackRoutes(open, deps);
    fileRoutes(open, deps);
    exportFileRoutes(open, deps);
    signInRoutes(open, deps);
  });
  app.register(async (closed: App) => {
    closed.register(authentication, { authenticate: deps.authenticate });
    acceptIdempotencyKeys(closed, deps);
    // One line per feature, in the order of contract.md.
    apiKeyRoutes(closed, deps);
    sendingRoutes(closed, deps);
    richMessageRoutes(closed, deps);
    senderRoutes(closed, deps);
    templateRoutes(closed, deps);
    statsRoutes(closed, deps);
    campaignRoutes(closed, deps);
    listRoutes(closed, deps);
    contactRoutes(closed, deps);
    importRoutes(closed, deps);
    trackingRoutes(closed, deps);
    historyRoutes(closed, deps);
    overviewRoutes(closed, deps);
    exportRoutes(closed, deps);
    inboxRoutes(closed, deps);
    webhookRoutes(closed, deps);
    deliveryRoutes(closed, deps);
    mediaRoutes(closed, deps);
    socialRoutes(closed, deps);
    subscriptionRoutes(closed, deps);
    creditRoutes(closed, deps);
    userRoutes(closed, deps);
    sessionRoutes(closed, deps);
    auditRoutes(closed, deps);
    securityRoutes(closed, deps);
    operatorRoutes(closed, deps);
  });
  return app;
}
