import { Type } from 'typebox';
import { tenant, tenantTransaction } from '../../platform/db/tenant.ts';
import { AppError, invalidFields } from '../../platform/errors.ts';
import { requireScope } from '../../platform/http/auth.ts';
import type { PlatformDeps, App } from '../../platform/http/app.ts';
import type { Outlet } from '../../platform/outbound/outlet.ts';
import { keeping, once } from '../../platform/http/idempotency.ts';
import { changeUrl } from './change-url.ts';
import { faultOfUrl } from './check-url.ts';
import type { Guard } from '../../platform/outbound/guard.ts';
import { registerEndpoint } from './register.ts';
import { removeEndpoint } from './remove.ts';
import { rotateSecret } from './rotate.ts';
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

const PATH_A = '/api/partner-gateway/v1/webhooks/delivery-status';
const PATH_B = '/api/webhooks/delivery-status';
const tags = ['Webhooks'];
const onRequest = requireScope('webhooks');

const REPLACES =
  'Takes the place of an earlier webhook of either form, and is sent what waited for that one, in its own form. Its ' +
  'events are signed as Standard Webhooks says; any 2xx within 5 seconds acknowledges.';
const AFRESH = 'Secret and form stay. A webhook that was disabled becomes active.';
const Deleted = Type.Null({ description: 'Deleted' });

export type WebhookRouteDeps = PlatformDeps & {
  /** For requests to the receivers of webhooks. */
  readonly outlet: Outlet;
};

/** Contract 6: the webhook of the caller's account. All need the scope `webhooks`. */
export function webhookRoutes(app: App, deps: WebhookRouteDeps): void {
  formARoutes(app, deps);
  formBRoutes(app, deps);
  toolRoutes(app, deps);
}

function formARoutes(app: App, { pool, answers, secretKey, outlet }: WebhookRouteDeps): void {
  app.post(PATH_A, {
    onRequest,
    schema: {
      tags,
      operationId: 'createWebhook',
      summary: 'Register the webhook; its secret is shown this once',
      description: `Events have eventType: DELIVERY, READ and INBOUND. ${REPLACES}`,
      body: FormAIn,
      response: { 201: FormACreated },
    },
    preHandler: ({ body }) => checkUrl(outlet.guard, 'callbackUrl', body.callbackUrl),
    handler: once({ pool, answers }, 201, async ({ actor, body: { callbackUrl: url } }, tx) => {
      const made = await registerEndpoint(tx, actor, { url, form: 'A', secretKey });
      return { ...inFormA(made), secret: made.plainSecret };
    }),
  });

  app.get(PATH_A, {
    onRequest,
    schema: { tags, operationId: 'findWebhook', summary: 'The webhook of the account', response: { 200: FormAOut } },
    handler: async ({ actor }) => inFormA(found(await findEndpoint(tenant(pool, actor), actor))),
  });

  app.put(PATH_A, {
    onRequest,
    schema: {
      tags,
      operationId: 'updateWebhook',
      summary: 'Lead the webhook to another URL',
      description: AFRESH,
      body: FormAIn,
      response: { 200: FormAOut },
    },
    preHandler: ({ body }) => checkUrl(outlet.guard, 'callbackUrl', body.callbackUrl),
    handler: async ({ actor, body: { callbackUrl: url } }) =>
      inFormA(await tenantTransaction(pool, actor, (tx) => changeUrl(tx, actor, { url }))),
  });

  app.delete(PATH_A, {
    onRequest,
    schema: {
      tags,
      operationId: 'deleteWebhook',
      summary: 'Delete the webhook, and the events that wait for it',
      response: { 204: Deleted },
    },
    handler: async ({ actor }, reply) => {
      await tenantTransaction(pool, actor, (tx) => removeEndpoint(tx, actor));
      return reply.code(204).send(null);
    },
  });
}

function formBRoutes(app: App, { pool, answers, secretKey, outlet }: WebhookRouteDeps): void {
  app.post(PATH_B, {
    onRequest,
    schema: {
      tags,
      operationId: 'createStatusWebhook',
      summary: 'Register the webhook for the second form of payload; its secret is shown this once',
      description: `Events have a status in words; READ and INBOUND are not sent. ${REPLACES}`,
      body: FormBIn,
      response: { 201: FormBCreated },
    },
    preHandler: ({ body }) => checkUrl(outlet.guard, 'url', body.url),
    handler: once({ pool, answers }, 201, async ({ actor, body: { url } }, tx) => {
      const made = await registerEndpoint(tx, actor, { url, form: 'B', secretKey });
      return { ...inFormB(made), secret: made.plainSecret };
    }),
  });

  app.get(PATH_B, {
    onRequest,
    schema: {
      tags,
      operationId: 'findStatusWebhook',
      summary: 'The webhook of the account',
      response: { 200: FormBOut },
    },
    handler: async ({ actor }) => inFormB(found(await findEndpoint(tenant(pool, actor), actor))),
  });

  app.put(PATH_B, {
    onRequest,
    schema: {
      tags,
      operationId: 'updateStatusWebhook',
      summary: 'Lead the webhook to another URL',
      description: AFRESH,
      body: FormBIn,
      response: { 200: FormBOut },
    },
    preHandler: ({ body }) => checkUrl(outlet.guard, 'url', body.url),
    handler: async ({ actor, body: { url } }) =>
      inFormB(await tenantTransaction(pool, actor, (tx) => changeUrl(tx, actor, { url }))),
  });

  app.delete(PATH_B, {
    onRequest,
    schema: {
      tags,
      operationId: 'deleteStatusWebhook',
      summary: 'Delete the webhook, and the events that wait for it',
      response: { 204: Deleted },
    },
    handler: async ({ actor }, reply) => {
      await tenantTransaction(pool, actor, (tx) => removeEndpoint(tx, actor));
      return reply.code(204).send(null);
    },
  });
}

/** For a webhook of either form. */
function toolRoutes(app: App, { pool, answers, secretKey, outlet, clock }: WebhookRouteDeps): void {
  app.post(`${PATH_A}/secret`, {
    onRequest,
    schema: {
      tags,
      operationId: 'rotateWebhookSecret',
      summary: 'Give the webhook a new secret, shown this once',
      description:
        'For 24 hours events carry two signatures, by the new secret and by the one before. Rotated again in that ' +
        'time, the last two sign.',
      response: { 200: SecretOut },
    },
    handler: once({ pool, answers }, 200, async ({ actor }, tx) => {
      const { plainSecret, previousSecretUntil } = await rotateSecret(tx, actor, { secretKey });
      return { secret: plainSecret, previousSecretUntil: previousSecretUntil?.toISOString() ?? null };
    }),
  });

  app.post(`${PATH_A}/test`, {
    onRequest,
    schema: {
      tags,
      operationId: 'testWebhook',
      summary: 'Send a sample event to the webhook, and tell how it went',
      description: 'In its form and signed; once, also to a disabled webhook. customerMessageId is `webhook-test`.',
      response: { 200: TestOut },
    },
    handler: keeping({ answers }, async ({ actor }, _reply, keep) => {
      const endpoint = found(await findEndpoint(tenant(pool, actor), actor));
      const tested = testedOf(await sendTest({ ...outlet, secretKey }, endpoint, clock.now()));
      if (keep) await answers.keepSoon(keep.seal(tested));
      return tested;
    }),
  });
}

function found<T>(endpoint: T | undefined): T {
  if (!endpoint) throw new AppError('not_found');
  return endpoint;
}

/** Asks DNS, which takes its time: before a transaction, never in one. */
async function checkUrl(guard: Guard, field: string, url: string): Promise<void> {
  const message = await faultOfUrl(guard, url);
  if (message !== null) throw invalidFields([{ field, message }]);
}
