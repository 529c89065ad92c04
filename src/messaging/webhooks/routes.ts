import { changeUrl, noWebhook, registerEndpoint, removeEndpoint, rotateSecret } from './endpoint.ts';
import { Type } from 'typebox';
import { tenant, tenantTransaction } from '../../platform/db/tenant.ts';
import { invalidFields } from '../../platform/errors.ts';
import { requireScope } from '../../platform/http/auth.ts';
import type { PlatformDeps, App } from '../../platform/http/app.ts';
import type { Outbound } from '../../platform/outbound/outbound.ts';
import { idempotentHandler, idempotentTx } from '../../platform/http/idempotency.ts';
import { findUrlFault } from './check-url.ts';
import type { Guard } from '../../platform/outbound/guard.ts';
import {
  FormACreated,
  FormAIn,
  FormAOut,
  FormBCreated,
  FormBIn,
  FormBOut,
  inFormA,
  inFormB,
  SecretOut,
  testedOf,
  TestOut,
} from './schema.ts';
import { sendTest } from './send-test.ts';
import { findEndpoint } from './sql.ts';
import { withExamples } from '../../platform/http/schema.ts';

const PATH_A = '/api/partner-gateway/v1/webhooks/delivery-status';
const PATH_B = '/api/webhooks/delivery-status';
const tags = ['Webhooks'];
const onRequest = requireScope('webhooks');

const REPLACES =
  'Replaces an earlier webhook of either form and receives the events that were waiting for it, in the new form. ' +
  'Events are signed according to Standard Webhooks; any 2xx within 5 seconds acknowledges an event.';
const AFRESH = 'The secret and the form are unchanged. A disabled webhook becomes active.';
const Deleted = Type.Null({ description: 'Deleted' });

export type WebhookRouteDeps = PlatformDeps & {
  /** Sends requests to the receivers of webhooks. */
  readonly outbound: Outbound;
};

/** Registers the routes for the webhook of the caller's account. All need the scope `webhooks`. */
export function webhookRoutes(app: App, deps: WebhookRouteDeps): void {
  formARoutes(app, deps);
  formBRoutes(app, deps);
  toolRoutes(app, deps);
}

function formARoutes(app: App, { pool, answers, secretKey, outbound: outlet }: WebhookRouteDeps): void {
  app.post(PATH_A, {
    onRequest,
    config: { secretAnswer: true },
    schema: {
      tags,
      operationId: 'createWebhook',
      summary: 'Register the webhook',
      description: `Events have an eventType: DELIVERY, READ or INBOUND. ${REPLACES} The secret is shown only in this response.`,
      body: withExamples(FormAIn, { callbackUrl: 'https://example.com/heliograph' }),
      response: { 201: FormACreated },
    },
    preHandler: ({ body }) => checkUrl(outlet.guard, 'callbackUrl', body.callbackUrl),
    handler: idempotentTx({ pool, answers }, 201, async ({ actor, body: { callbackUrl: url } }, tx) => {
      const made = await registerEndpoint(tx, actor, { url, form: 'A', secretKey });
      return { ...inFormA(made), secret: made.plainSecret };
    }),
  });

  app.get(PATH_A, {
    onRequest,
    schema: { tags, operationId: 'findWebhook', summary: 'Get the webhook', response: { 200: FormAOut } },
    handler: async ({ actor }) => inFormA(found(await findEndpoint(tenant(pool, actor), actor))),
  });

  app.put(PATH_A, {
    onRequest,
    schema: {
      tags,
      operationId: 'updateWebhook',
      summary: 'Change the webhook URL',
      description: AFRESH,
      body: withExamples(FormAIn, { callbackUrl: 'https://example.com/heliograph/events' }),
      response: { 200: FormAOut },
    },
    preHandler: async ({ actor, body }) => {
      found(await findEndpoint(tenant(pool, actor), actor));
      await checkUrl(outlet.guard, 'callbackUrl', body.callbackUrl);
    },
    handler: async ({ actor, body: { callbackUrl: url } }) =>
      inFormA(await tenantTransaction(pool, actor, (tx) => changeUrl(tx, actor, { url }))),
  });

  app.delete(PATH_A, {
    onRequest,
    schema: {
      tags,
      operationId: 'deleteWebhook',
      summary: 'Delete the webhook and its waiting events',
      response: { 204: Deleted },
    },
    handler: async ({ actor }, reply) => {
      await tenantTransaction(pool, actor, (tx) => removeEndpoint(tx, actor));
      return reply.code(204).send(null);
    },
  });
}

function formBRoutes(app: App, { pool, answers, secretKey, outbound: outlet }: WebhookRouteDeps): void {
  app.post(PATH_B, {
    onRequest,
    config: { secretAnswer: true },
    schema: {
      tags,
      operationId: 'createStatusWebhook',
      summary: 'Register the webhook with the second payload form',
      description: `Events have a status text; READ and INBOUND events are not sent. ${REPLACES} The secret is shown only in this response.`,
      body: withExamples(FormBIn, { url: 'https://example.com/heliograph', method: 'POST' }),
      response: { 201: FormBCreated },
    },
    preHandler: ({ body }) => checkUrl(outlet.guard, 'url', body.url),
    handler: idempotentTx({ pool, answers }, 201, async ({ actor, body: { url } }, tx) => {
      const made = await registerEndpoint(tx, actor, { url, form: 'B', secretKey });
      return { ...inFormB(made), secret: made.plainSecret };
    }),
  });

  app.get(PATH_B, {
    onRequest,
    schema: {
      tags,
      operationId: 'findStatusWebhook',
      summary: 'Get the webhook',
      response: { 200: FormBOut },
    },
    handler: async ({ actor }) => inFormB(found(await findEndpoint(tenant(pool, actor), actor))),
  });

  app.put(PATH_B, {
    onRequest,
    schema: {
      tags,
      operationId: 'updateStatusWebhook',
      summary: 'Change the webhook URL',
      description: AFRESH,
      body: withExamples(FormBIn, { url: 'https://example.com/heliograph/events' }),
      response: { 200: FormBOut },
    },
    preHandler: async ({ actor, body }) => {
      found(await findEndpoint(tenant(pool, actor), actor));
      await checkUrl(outlet.guard, 'url', body.url);
    },
    handler: async ({ actor, body: { url } }) =>
      inFormB(await tenantTransaction(pool, actor, (tx) => changeUrl(tx, actor, { url }))),
  });

  app.delete(PATH_B, {
    onRequest,
    schema: {
      tags,
      operationId: 'deleteStatusWebhook',
      summary: 'Delete the webhook and its waiting events',
      response: { 204: Deleted },
    },
    handler: async ({ actor }, reply) => {
      await tenantTransaction(pool, actor, (tx) => removeEndpoint(tx, actor));
      return reply.code(204).send(null);
    },
  });
}

/** Routes for a webhook of either form. */
function toolRoutes(app: App, { pool, answers, secretKey, outbound: outlet, clock }: WebhookRouteDeps): void {
  app.post(`${PATH_A}/secret`, {
    onRequest,
    config: { secretAnswer: true },
    schema: {
      tags,
      operationId: 'rotateWebhookSecret',
      summary: 'Rotate the webhook secret',
      description:
        'The new secret is shown only in this response. For 24 hours events carry two signatures, one by the new and one by ' +
        'the previous secret. After another rotation within that time the last two secrets sign.',
      response: { 200: SecretOut },
    },
    handler: idempotentTx({ pool, answers }, 200, async ({ actor }, tx) => {
      const { plainSecret, previousSecretUntil } = await rotateSecret(tx, actor, { secretKey });
      return { secret: plainSecret, previousSecretUntil: previousSecretUntil?.toISOString() ?? null };
    }),
  });

  app.post(`${PATH_A}/test`, {
    onRequest,
    config: { stepUp: { exempt: 'sends a sample to where events go already' } },
    schema: {
      tags,
      operationId: 'testWebhook',
      summary: 'Send a test event to the webhook',
      description:
        'Sends one signed sample event in the form of the webhook, even when the webhook is disabled, and returns the ' +
        'result. customerMessageId is `webhook-test`. The event is not repeated and not logged.',
      response: { 200: TestOut },
    },
    handler: idempotentHandler({ answers }, async ({ actor }, _reply, pendingAnswer) => {
      const endpoint = found(await findEndpoint(tenant(pool, actor), actor));
      const tested = testedOf(await sendTest({ ...outlet, secretKey }, endpoint, clock.now()));
      if (pendingAnswer) await answers.storeSoon(pendingAnswer.seal(tested));
      return tested;
    }),
  });
}

function found<T>(endpoint: T | undefined): T {
  if (!endpoint) throw noWebhook();
  return endpoint;
}

/** Checks a URL. It queries DNS, which may be slow, so never call it inside a transaction. */
async function checkUrl(guard: Guard, field: string, url: string): Promise<void> {
  const message = await findUrlFault(guard, url);
  if (message !== null) throw invalidFields([{ field, message }]);
}
