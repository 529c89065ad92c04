/** The exports of the package `@heliograph/client`. */
export { type FieldError, HeliographError } from './error.ts';
export { createHeliograph, type Heliograph, type HeliographOptions } from './heliograph.ts';
export type { Answer, Init, Method, Path } from './calls.ts';
export type { Item, PagedPath, PageInit } from './pages.ts';
export type { components, operations, paths } from './schema.d.ts';
export {
  type Channel,
  type DeliveryEvent,
  type InboundEvent,
  type ReadEvent,
  type EndpointEvent,
  type StatusEvent,
  verifyWebhook,
  type VerifyOptions,
  WebhookError,
  type WebhookEvent,
  type WebhookHeaders,
} from './webhooks.ts';
