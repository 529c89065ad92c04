import type { Command } from 'commander';
import { type Static, Type } from 'typebox';
import { type CommandContext, table } from '../core/cli.ts';
import type { Db } from '../core/db/query.ts';
import { tenant, tenantTransaction } from '../core/db/transaction.ts';
import { invalidFields } from '../core/errors.ts';
import { type App, type PlatformDeps, withExamples } from '../core/http/app.ts';
import { requireScope } from '../core/http/auth.ts';
import { idempotentHandler, idempotentTx } from '../core/http/idempotency.ts';
import type { Guard } from '../core/outbound.ts';
import type { Outbound, PostResult } from '../core/outbound-post.ts';
import { instant, orNull } from '../core/schema.ts';
import {
  changeUrl,
  type Endpoint,
  type EndpointOverview,
  findEndpoint,
  listAllEndpoints,
  noWebhook,
  registerEndpoint,
  removeEndpoint,
  rotateSecret,
  sendTest,
} from './endpoints.ts';
import { WEBHOOK_EVENT_KINDS } from './events.ts';
import { listEventCounts } from './delivery-log.ts';
import { findUrlFault } from './urls.ts';

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
      description: `Events have an eventType: ${WEBHOOK_EVENT_KINDS.join(', ')}. ${REPLACES} The secret is shown only in this response.`,
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
    config: { mayBeMissing: true },
    schema: { tags, operationId: 'findWebhook', summary: 'Get the webhook', response: { 200: FormAOut } },
    handler: async ({ actor }) => inFormA(found(await findEndpoint(tenant(pool, actor), actor))),
  });

  app.put(PATH_A, {
    onRequest,
    config: { mayBeMissing: true },
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
    config: { mayBeMissing: true },
    schema: {
      tags,
      operationId: 'deleteWebhook',
      summary: 'Delete the webhook and its waiting events',
      response: { 204: Deleted },
    },
    handler: ({ actor }) => tenantTransaction(pool, actor, (tx) => removeEndpoint(tx, actor)),
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
    config: { mayBeMissing: true },
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
    config: { mayBeMissing: true },
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
    config: { mayBeMissing: true },
    schema: {
      tags,
      operationId: 'deleteStatusWebhook',
      summary: 'Delete the webhook and its waiting events',
      response: { 204: Deleted },
    },
    handler: ({ actor }) => tenantTransaction(pool, actor, (tx) => removeEndpoint(tx, actor)),
  });
}

/** Routes for a webhook of either form. */
function toolRoutes(app: App, { pool, answers, secretKey, outbound: outlet, clock }: WebhookRouteDeps): void {
  app.post(`${PATH_A}/secret`, {
    onRequest,
    config: { mayBeMissing: true, secretAnswer: true },
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
    config: { mayBeMissing: true, stepUp: { exempt: 'sends a sample to where events go already' } },
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
export async function checkUrl(guard: Guard, field: string, url: string): Promise<void> {
  const message = await findUrlFault(guard, url);
  if (message !== null) throw invalidFields([{ field, message }]);
}

export const Url = Type.String({
  minLength: 1,
  maxLength: 2048,
  description:
    'An https URL with port 443 or 8443 (unless the operator allows others), without a user name or #fragment, whose host ' +
    'resolves only to public addresses. Checked again at each connection.',
});
const Method = Type.Literal('POST', { description: 'How events are sent.' });

const FormAIn = Type.Object({ callbackUrl: Url });
const FormBIn = Type.Object({ url: Url, method: Type.Optional(Method) });

const state = {
  id: Type.Integer({ description: 'Changes with each registration.' }),
  form: Type.Enum(['A', 'B'], {
    type: 'string',
    description: 'The payload form, given by the endpoint that registered the webhook.',
  }),
  status: Type.Enum(['active', 'paused', 'disabled'], {
    type: 'string',
    description:
      'A disabled webhook receives nothing, and what is for a paused one waits. PUT its URL (the same one is fine) to enable it again.',
  }),
  disabledReason: orNull(Type.String()),
  failingSince: orNull(instant('The first failure since the last success.')),
  createdAt: instant('UTC'),
  updatedAt: instant('UTC'),
};
export const Secret = Type.String({
  description: '`whsec_…`: verifies the header `webhook-signature` (Standard Webhooks). Shown only once.',
});

const FormAOut = Type.Object({ ...state, callbackUrl: Type.String() });
const FormACreated = Type.Object({ ...FormAOut.properties, secret: Secret });
const FormBOut = Type.Object({ ...state, url: Type.String(), method: Method });
const FormBCreated = Type.Object({ ...FormBOut.properties, secret: Secret });

export const SecretOut = Type.Object({
  secret: Secret,
  previousSecretUntil: orNull(instant('Until then the previous secret signs too.')),
});

export const TestOut = Type.Object({
  acknowledged: Type.Boolean({ description: 'The receiver responded with 2xx within 5 seconds.' }),
  status: orNull(Type.Integer({ description: 'HTTP status of the response; null without a complete response.' })),
  durationMs: Type.Integer(),
  error: orNull(Type.String({ description: 'Reason why there was no complete response.' })),
  answer: orNull(Type.String({ description: 'The first 1,024 bytes of the response body.' })),
});

const stateOf = ({ id, form: anyForm, status, disabledReason, failingSince, createdAt, updatedAt }: Endpoint) => ({
  id,
  form: anyForm === 'V2' ? ('A' as const) : anyForm,
  status,
  disabledReason,
  failingSince: failingSince?.toISOString() ?? null,
  createdAt: createdAt.toISOString(),
  updatedAt: updatedAt.toISOString(),
});

/** Returns an endpoint in the representation of form A, whatever its own form. */
const inFormA = (endpoint: Endpoint): Static<typeof FormAOut> => ({
  ...stateOf(endpoint),
  callbackUrl: endpoint.url,
});

/** Returns an endpoint in the representation of form B, whatever its own form. */
const inFormB = (endpoint: Endpoint): Static<typeof FormBOut> => ({
  ...stateOf(endpoint),
  url: endpoint.url,
  method: endpoint.method,
});

export const testedOf = (result: PostResult): Static<typeof TestOut> => {
  const durationMs = Math.round(result.durationMs);
  if (result.kind === 'failed')
    return { acknowledged: false, status: null, durationMs, error: result.reason, answer: null };
  const { status, body: answer } = result;
  return { acknowledged: status >= 200 && status < 300, status, durationMs, error: null, answer };
};

/** `webhook list`, of all accounts. */
export function registerWebhookCommands(program: Command, context: CommandContext): void {
  const webhook = program.command('webhook').description('webhooks of the accounts');

  webhook
    .command('list')
    .description('list all webhooks with their state and the number of pending and dead events')
    .action(async () => context.report(await context.withDatabase(listWebhooks), showWebhooks));
}

type Overview = EndpointOverview & { readonly pending: number; readonly dead: number };

async function listWebhooks(db: Db): Promise<Overview[]> {
  const [endpoints, counts] = [await listAllEndpoints(db), await listEventCounts(db)];
  const countsOf = new Map(counts.map(({ accountId, ...count }) => [accountId, count]));
  return endpoints.map((endpoint) => {
    const { pending, dead } = countsOf.get(endpoint.accountId) ?? { pending: 0, dead: 0 };
    return { ...endpoint, url: withoutQuery(endpoint.url), pending, dead };
  });
}

const showWebhooks = (webhooks: readonly Overview[]): string =>
  table(
    ['account', 'name', 'status', 'failing since', 'pending', 'dead', 'url', 'reason'],
    webhooks.map((w) => [
      w.accountId,
      w.account,
      w.status,
      w.failingSince?.toISOString() ?? '',
      w.pending,
      w.dead,
      w.url,
      w.disabledReason ?? '',
    ]),
  );

/** Removes the query of a URL, which often contains a token. */
const withoutQuery = (url: string): string => url.replace(/\?.*/, '?…');
