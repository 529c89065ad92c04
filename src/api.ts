import { readFileSync } from 'node:fs';
import { apiKeyRoutes } from './accounts/api-key-routes.ts';
import { auditRoutes, operatorAuditRoutes } from './accounts/audit-routes.ts';
import { acceptInvitationRoutes, invitationRoutes } from './accounts/invitation-routes.ts';
import { numberRulesRoutes } from './accounts/numbers.ts';
import { sendingRulesRoutes } from './accounts/sending-rules.ts';
import { passwordResetRoutes } from './accounts/password-reset.ts';
import { secondFactorRoutes } from './accounts/second-factor-routes.ts';
import { securityRoutes } from './accounts/security.ts';
import { sessionGuard, sessionRoutes } from './accounts/session-routes.ts';
import { signInRoutes, stepUpRoutes } from './accounts/sign-in.ts';
import {
  beginSignOnRoutes,
  type SignOnRouteDeps,
  signOnCallbackRoutes,
  signOnStepUpRoutes,
  singleSignOnRoutes,
} from './accounts/single-sign-on-routes.ts';
import { smppCredentialRoutes } from './accounts/smpp-credential-routes.ts';
import { userRoutes } from './accounts/user-routes.ts';
import { type CampaignRouteDeps, campaignRoutes } from './campaigns/routes.ts';
import { importRoutes } from './contacts/import-routes.ts';
import { contactUploadRoutes } from './contacts/import-uploads.ts';
import { listRoutes } from './contacts/list-routes.ts';
import { contactRoutes } from './contacts/routes.ts';
import type { App, PlatformDeps } from './core/http/app.ts';
import { authentication } from './core/http/auth.ts';
import { type HealthDeps, healthRoutes } from './core/http/health.ts';
import { acceptIdempotencyKeys } from './core/http/idempotency.ts';
import { describeApi, type RecordedExamples } from './core/http/openapi.ts';
import { createConsole, docsRoutes, helpRoutes } from './core/http/pages.ts';
import { createServer } from './core/http/server.ts';
import { exportFileRoutes, exportRoutes } from './exports/routes.ts';
import { type InboxRouteDeps, inboxRoutes } from './inbox/routes.ts';
import { removeAgent } from './inbox/rules.ts';
import { fileRoutes, mediaRoutes } from './media/routes.ts';
import { createInboundFileLinks } from './media/store.ts';
import { type CallbackDeps, callbackRoutes } from './messages/callbacks.ts';
import { consentPageRoutes } from './messages/consent-page.ts';
import { consentRoutes } from './messages/consent-routes.ts';
import { consentSettingsRoutes } from './messages/consent-settings.ts';
import { type KeywordRouteDeps, keywordRoutes } from './messages/keyword-routes.ts';
import { directSend, richMessageRoutes, type SendRouteDeps, sendingRoutes } from './messages/send-routes.ts';
import { suspectedRoutes } from './messages/suspected.ts';
import { trackingRoutes } from './messages/timeline.ts';
import { operatorBillingRoutes } from './messages/network-billing.ts';
import { operatorUnknownRoutes } from './messages/unknown-admin.ts';
import { scheduledMessageRoutes } from './messages/upcoming.ts';
import { operatorMarginRoutes, operatorPriceRoutes } from './money/admin.ts';
import { creditRoutes } from './money/credit-routes.ts';
import { subscriptionRoutes } from './operate/account-commands.ts';
import { operatorAccountRoutes } from './operate/accounts.ts';
import { type AlertRouteDeps, operatorAlertRoutes } from './operate/alert-routes.ts';
import { operatorConnectionRoutes } from './operate/connections.ts';
import { operatorOverviewRoutes } from './operate/overview.ts';
import { operatorQueueRoutes } from './operate/queues.ts';
import { operatorHealthRoutes } from './operate/reconciliation.ts';
import { operatorRestoreGuardRoutes } from './operate/restore-guard.ts';
import { operatorDltTemplateRoutes } from './operate/dlt-templates.ts';
import { operatorSenderRuleRoutes } from './operate/sender-rules.ts';
import { operatorSenderRoutes } from './operate/senders.ts';
import { operatorCostRoutes } from './routing/cost-admin.ts';
import { operatorLookupRoutes } from './routing/number-lookup-admin.ts';
import { operatorRouteRoutes } from './routing/route-admin.ts';
import { senderRoutes } from './routing/senders.ts';
import { type SandboxRouteDeps, sandboxRoutes } from './sandbox/sandbox-commands.ts';
import { operatorSmppRoutes } from './smpp-server/admin.ts';
import { socialCallbackRoutes } from './social/connect.ts';
import { socialRoutes } from './social/routes.ts';
import { findByTextRoutes } from './stats/find-by-text.ts';
import { historyRoutes } from './stats/history-routes.ts';
import { optInRoutes } from './messages/opt-ins.ts';
import { accountRetentionRoutes } from './operate/account-retention.ts';
import { erasureRoutes } from './operate/erasures.ts';
import { messageContentRoutes } from './operate/message-content.ts';
import { overviewRoutes } from './stats/overview.ts';
import { statsRoutes } from './stats/stats.ts';
import { type TemplateRouteDeps, templateRoutes } from './templates/routes.ts';
import { verifyGuardRoutes } from './verify/guard-routes.ts';
import { type VerifyHookDeps, verifyHookRoutes } from './verify/hooks.ts';
import { createVerifyMeter } from './verify/metrics.ts';
import { createGuardedAccept } from './verify/plain-sends.ts';
import { verificationRoutes, verifyServiceRoutes } from './verify/routes.ts';
import { deliveryRoutes } from './webhooks/delivery-routes.ts';
import { describeAllEvents } from './webhooks/event-types.ts';
import { endpointRoutes } from './webhooks/endpoint-routes.ts';
import { feedRoutes } from './webhooks/feed.ts';
import { type WebhookRouteDeps, webhookRoutes } from './webhooks/routes.ts';

/**
 * Builds the whole API on one Fastify server: this is the list of all routes of the program. The server does not listen
 * yet. Building it takes no query, so the OpenAPI file can be generated without a database.
 */
export function buildApi(given: ApiDeps): App {
  const meter = createVerifyMeter(given.metrics);
  const deps = { ...given, meter, acceptGuarded: createGuardedAccept({ ...given, meter }) };
  const console = createConsole(deps.config);
  const app = createServer(deps, console.pages, deps.tracing ? undefined : directSend(deps));
  describeApi(app, readExamples, describeAllEvents());
  app.register(async (open: App) => {
    healthRoutes(open, deps);
    docsRoutes(open);
    helpRoutes(open);
    console.routes(open);
    callbackRoutes(open, deps);
    socialCallbackRoutes(open, deps);
    verifyHookRoutes(open, deps);
    sandboxRoutes(open, deps);
    fileRoutes(open, deps);
    exportFileRoutes(open, deps);
    consentPageRoutes(open, deps);
    signInRoutes(open, deps);
    beginSignOnRoutes(open, deps);
    signOnCallbackRoutes(open, deps);
    passwordResetRoutes(open, deps);
    acceptInvitationRoutes(open, deps);
  });
  app.register(async (closed: App) => {
    closed.register(authentication, { authenticate: deps.authenticate });
    closed.register(sessionGuard);
    signedRoutes(closed, deps);
  });
  return app;
}

/** Registers the routes that need credentials, next to those who check them: the operations of accounts and operators. */
export function signedRoutes(closed: App, deps: ApiDeps): void {
  acceptIdempotencyKeys(closed, deps);
  // One line per feature.
  apiKeyRoutes(closed, deps);
  smppCredentialRoutes(closed, deps);
  sendingRoutes(closed, deps);
  richMessageRoutes(closed, deps);
  scheduledMessageRoutes(closed, deps);
  senderRoutes(closed, deps);
  templateRoutes(closed, deps);
  statsRoutes(closed, deps);
  campaignRoutes(closed, deps);
  listRoutes(closed, deps);
  contactRoutes(closed, deps);
  consentRoutes(closed, deps);
  consentSettingsRoutes(closed, deps);
  suspectedRoutes(closed, deps);
  optInRoutes(closed, deps);
  erasureRoutes(closed, deps);
  messageContentRoutes(closed, deps);
  accountRetentionRoutes(closed, deps);
  importRoutes(closed, deps);
  contactUploadRoutes(closed, deps);
  trackingRoutes(closed, deps);
  historyRoutes(closed, deps);
  overviewRoutes(closed, deps);
  findByTextRoutes(closed, deps);
  exportRoutes(closed, deps);
  inboxRoutes(closed, deps);
  keywordRoutes(closed, deps);
  webhookRoutes(closed, deps);
  endpointRoutes(closed, deps);
  const fileUrl = createInboundFileLinks({ links: deps.links, publicUrl: deps.config.publicUrl });
  deliveryRoutes(closed, { ...deps, fileUrl });
  feedRoutes(closed, { ...deps, fileUrl });
  mediaRoutes(closed, deps);
  socialRoutes(closed, deps);
  verifyServiceRoutes(closed, deps);
  verificationRoutes(closed, deps);
  verifyGuardRoutes(closed, deps);
  subscriptionRoutes(closed, deps);
  creditRoutes(closed, deps);
  userRoutes(closed, { ...deps, onRemove: removeAgent });
  invitationRoutes(closed, deps);
  singleSignOnRoutes(closed, deps);
  sessionRoutes(closed, deps);
  stepUpRoutes(closed, deps);
  signOnStepUpRoutes(closed, deps);
  secondFactorRoutes(closed, deps);
  auditRoutes(closed, deps);
  securityRoutes(closed, deps);
  numberRulesRoutes(closed, deps);
  sendingRulesRoutes(closed, deps);
  operatorRoutes(closed, deps);
}

/**
 * Everything that the routes of the program need: the combined dependencies that the features declare for their routes.
 */
export type ApiDeps = PlatformDeps &
  HealthDeps &
  CallbackDeps &
  SignOnRouteDeps &
  SendRouteDeps &
  KeywordRouteDeps &
  TemplateRouteDeps &
  WebhookRouteDeps &
  CampaignRouteDeps &
  InboxRouteDeps &
  VerifyHookDeps &
  SandboxRouteDeps;

/** Written by scripts/generate-api-examples.ts from the responses of a running program. */
const FILE = new URL('openapi-examples.json', import.meta.url);

/** Reads the recorded examples of the API description. It is 300 kB, so it is read only with the description itself. */
export const readExamples = (): RecordedExamples => JSON.parse(readFileSync(FILE, 'utf8'));

/**
 * Registers the routes for the operators of the gateway, which do the same as the commands. Every route requires an
 * operator (403 for all others, including API keys), runs with the rights of the program, and records who changed what.
 */
function operatorRoutes(app: App, deps: AlertRouteDeps): void {
  operatorOverviewRoutes(app, deps);
  operatorAlertRoutes(app, deps);
  operatorAccountRoutes(app, deps);
  operatorPriceRoutes(app, deps);
  operatorCostRoutes(app, deps);
  operatorMarginRoutes(app, deps);
  operatorConnectionRoutes(app, deps);
  operatorRouteRoutes(app, deps);
  operatorLookupRoutes(app, deps);
  operatorSenderRoutes(app, deps);
  operatorSenderRuleRoutes(app, deps);
  operatorDltTemplateRoutes(app, deps);
  operatorQueueRoutes(app, deps);
  operatorSmppRoutes(app, deps);
  operatorUnknownRoutes(app, deps);
  operatorBillingRoutes(app, deps);
  operatorRestoreGuardRoutes(app, deps);
  operatorHealthRoutes(app, deps);
  operatorAuditRoutes(app, deps);
}
