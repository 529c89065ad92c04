import type { CampaignRouteDeps } from '../engagement/campaigns/routes.ts';
import type { InboxRouteDeps } from '../engagement/inbox/routes.ts';
import type { SignOnRouteDeps } from '../identity/single-sign-on/routes.ts';
import type { CallbackDeps } from '../messaging/callbacks/callbacks.ts';
import type { KeywordRouteDeps } from '../messaging/keywords/routes.ts';
import type { SendRouteDeps } from '../messaging/sending/routes.ts';
import type { WebhookRouteDeps } from '../messaging/webhooks/routes.ts';
import type { TemplateRouteDeps } from '../network/templates/routes.ts';
import type { PlatformDeps } from '../platform/http/app.ts';
import type { HealthDeps } from '../platform/http/health.ts';
import type { SandboxRouteDeps } from '../simulators/sandbox/routes.ts';

/**
 * Everything that the routes of the program need: the combined dependencies that the rooms declare for their routes.
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
  SandboxRouteDeps;
