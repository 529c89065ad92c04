import { securityRoutes } from './accounts/security/routes.ts';
import { apiKeyRoutes } from './api-keys/routes.ts';
import { auditRoutes } from './audit/routes.ts';
import { campaignRoutes } from './campaigns/routes.ts';
import { callbackRoutes } from './connections/callbacks.ts';
import { importRoutes } from './contacts/imports/routes.ts';
import { contactRoutes } from './contacts/routes.ts';
import { creditRoutes } from './credit/routes.ts';
import { exportFileRoutes, exportRoutes } from './exports/routes.ts';
import { historyRoutes } from './history/routes.ts';
import { authentication } from './http/auth.ts';
import { createConsole } from './http/console.ts';
import type { ApiDeps, App } from './http/deps.ts';
import { docsRoutes } from './http/docs.ts';
import { healthRoutes } from './http/health.ts';
import { takeIdempotencyKeys } from './http/idempotency.ts';
import { describeApi } from './http/openapi.ts';
import { createServer } from './http/server.ts';
import { inboxRoutes } from './inbox/routes.ts';
import { listRoutes } from './lists/routes.ts';
import { fileRoutes } from './media/files/routes.ts';
import { mediaRoutes } from './media/routes.ts';
import { richMessageRoutes } from './messages/rich/routes.ts';
import { messageRoutes } from './messages/routes.ts';
import { overviewRoutes } from './overview/routes.ts';
import { operatorRoutes } from './operator/routes.ts';
import { senderRoutes } from './senders/routes.ts';
import { sessionRoutes, signInRoutes } from './sessions/routes.ts';
import { socialCallbackRoutes } from './social/callbacks.ts';
import { socialRoutes } from './social/routes.ts';
import { statsRoutes } from './stats/routes.ts';
import { subscriptionRoutes } from './subscription/routes.ts';
import { templateRoutes } from './templates/routes.ts';
import { trackingRoutes } from './tracking/routes.ts';
import { userRoutes } from './users/routes.ts';
import { deliveryRoutes } from './webhooks/deliveries/routes.ts';
import { webhookRoutes } from './webhooks/routes.ts';

/**
 * The whole interface on one Fastify server: the list of all routes of the program. Not listening, and building it
 * asks the database nothing, so the OpenAPI file can be made without one.
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
    takeIdempotencyKeys(closed, deps);
    // One line a feature, in the order of contract.md.
    apiKeyRoutes(closed, deps);
    messageRoutes(closed, deps);
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
