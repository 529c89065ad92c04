import { type Static, Type } from 'typebox';
import type { Actor } from '../core/actor.ts';
import { tenant, tenantTransaction } from '../core/db/transaction.ts';
import { AppError, type FieldError, invalidFields } from '../core/errors.ts';
import { type App, withExamples } from '../core/http/app.ts';
import { requireScope } from '../core/http/auth.ts';
import { idempotentHandler, idempotentTx } from '../core/http/idempotency.ts';
import { nearestName } from '../core/http/unknown-fields.ts';
import { instant, orNull } from '../core/schema.ts';
import {
  changeEndpoint,
  createEndpoint,
  type Endpoint,
  type EndpointSettings,
  enableEndpoint,
  findEndpoint,
  listEndpoints,
  MAX_ENDPOINTS,
  noWebhook,
  openHeaders,
  pauseEndpoint,
  removeEndpoint,
  rotateSecret,
  sendTest,
} from './endpoints.ts';
import { EVENT_TYPE_NAMES, EVENT_TYPES, exampleOf, typesOf } from './event-types.ts';
import { Filters, unknownCountries } from './filters.ts';
import { checkUrl, Secret, SecretOut, TestOut, testedOf, Url, type WebhookRouteDeps } from './routes.ts';
import { RETRY_PLANS } from './account-queue.ts';

const ENDPOINTS = '/api/partner-gateway/v1/webhooks/endpoints';
const tags = ['Webhooks'];
const onRequest = requireScope('webhooks');

/** The id of an endpoint in paths and answers. */
export const EndpointId = Type.String({
  pattern: '^(default|[1-9]\\d{0,14})$',
  description: '`default` is the webhook of `…/webhooks/delivery-status`.',
});

/** Returns the reference of the endpoint in queue and log for an id of the API: 0 for `default`. */
export const refOf = (id: string): number => (id === 'default' ? 0 : Number(id));

/** Maximum number of further headers of an endpoint, and of the characters of each. */
export const MAX_HEADERS = 10;
export const MAX_HEADER_LENGTH = 1024;
/** Maximum event types that an endpoint names. */
export const MAX_TYPES = 50;

const HeaderValue = Type.String({ maxLength: MAX_HEADER_LENGTH });
const Headers = Type.Record(Type.String({ pattern: '^[A-Za-z0-9-]{1,100}$' }), HeaderValue, {
  maxProperties: MAX_HEADERS,
  description:
    'Up to 10 headers of up to 1,024 characters that each request has in addition. Not `webhook-…`, `content-…`, `host` and ' +
    'the like. Stored encrypted, and never shown again.',
});

const fields = {
  url: Url,
  name: Type.String({ minLength: 1, maxLength: 100 }),
  eventTypes: Type.Array(Type.String({ maxLength: 60 }), {
    minItems: 1,
    maxItems: MAX_TYPES,
    uniqueItems: true,
    description:
      'Types such as `message.delivered`; `message.*` are all of that kind, `*` are all. Types added later are not among them.',
  }),
  filters: Filters,
  headers: Headers,
  retry: Type.Enum([...RETRY_PLANS], {
    type: 'string',
    description:
      'Repetitions of failed events: `none`, `short` (four within half an hour) or `full` (ten within 47 hours, the default).',
  }),
  maxPerSecond: orNull(
    Type.Integer({
      minimum: 1,
      maximum: 10_000,
      description: 'The most requests a second. Null (default): any number.',
    }),
  ),
};
const EndpointIn = Type.Object({
  url: fields.url,
  name: Type.Optional(fields.name),
  eventTypes: fields.eventTypes,
  filters: Type.Optional(fields.filters),
  headers: Type.Optional(fields.headers),
  retry: Type.Optional(fields.retry),
  maxPerSecond: Type.Optional(fields.maxPerSecond),
  format: Type.Optional(Type.Literal('v2')),
});
const EndpointChange = Type.Object({
  ...Type.Partial(Type.Object(fields)).properties,
  status: Type.Optional(
    Type.Enum(['ACTIVE', 'PAUSED'], { type: 'string', description: 'PAUSED: events wait, as long as `retry` allows.' }),
  ),
});

const EndpointOut = Type.Object({
  id: EndpointId,
  name: Type.String(),
  url: Type.String(),
  format: Type.Enum(['v1', 'v2'], { type: 'string', description: 'v1: the payloads of the specification.' }),
  eventTypes: Type.Array(Type.String()),
  filters: Filters,
  headers: Type.Array(Type.String(), { description: 'Their names only.' }),
  retry: fields.retry,
  maxPerSecond: fields.maxPerSecond,
  state: Type.Enum(['ACTIVE', 'PAUSED', 'DISABLED'], {
    type: 'string',
    description: 'DISABLED: the receiver returned 410, or every delivery failed for five days. PAUSED: by you.',
  }),
  reason: orNull(Type.String({ description: 'Why it is DISABLED.' })),
  since: instant('Time since which it has this state.'),
  failingSince: orNull(instant('The first failure since the last success.')),
  createdAt: instant('UTC'),
  updatedAt: instant('UTC'),
});
const EndpointCreated = Type.Object({ ...EndpointOut.properties, secret: Secret });
const Params = Type.Object({ id: EndpointId });

const EventTypeOut = Type.Object({
  type: Type.String(),
  version: Type.Integer(),
  description: Type.String(),
  schema: Type.Record(Type.String(), Type.Unknown(), { description: 'The JSON Schema of `data`.' }),
  example: Type.Record(Type.String(), Type.Unknown()),
});

/** Registers the routes for the endpoints of the caller's account. All need the scope `webhooks`. */
export function endpointRoutes(
  app: App,
  { pool, answers, secretKey, outbound: outlet, clock }: WebhookRouteDeps,
): void {
  app.get('/api/partner-gateway/v1/webhooks/event-types', {
    onRequest,
    schema: {
      tags,
      operationId: 'listEventTypes',
      summary: 'List the types of events, each with its schema and an example',
      response: { 200: Type.Array(EventTypeOut) },
    },
    handler: () =>
      EVENT_TYPE_NAMES.map((type) => {
        const { version = 2, summary = '', data = {} } = EVENT_TYPES[type] ?? {};
        return { type, version, description: summary, schema: { ...data }, example: { ...exampleOf(type) } };
      }),
  });

  app.post(ENDPOINTS, {
    onRequest,
    config: { secretAnswer: true },
    schema: {
      tags,
      operationId: 'createEndpoint',
      summary: 'Add an endpoint for events',
      description:
        `An account may have ${MAX_ENDPOINTS} endpoints besides its webhook of the specification. Each receives the events of its ` +
        'types and filters, as envelopes `{id, type, version, occurredAt, accountId, data}`, signed according to Standard ' +
        'Webhooks with its secret, which is shown only in this response. No endpoint waits for another. 409: an endpoint with this ' +
        'URL and these types exists. Events `message.accepted` may be missing for sends of the first second.',
      body: withExamples(EndpointIn, { url: 'https://example.com/events', eventTypes: ['message.*'], retry: 'full' }),
      response: { 201: EndpointCreated },
    },
    preHandler: async ({ body }) => {
      check(body);
      await checkUrl(outlet.guard, 'url', body.url);
    },
    handler: idempotentTx({ pool, answers }, 201, async ({ actor, body }, tx) => {
      const made = await createEndpoint(tx, actor, {
        secretKey,
        ...settingsOf(body),
        showsAmounts: actor.operations.has('money'),
      });
      return { ...toEndpointOut(made), secret: made.plainSecret };
    }),
  });

  app.get(ENDPOINTS, {
    onRequest,
    schema: {
      tags,
      operationId: 'listEndpoints',
      summary: 'List the endpoints',
      response: { 200: Type.Array(EndpointOut) },
    },
    handler: async ({ actor }) =>
      (await listEndpoints(tenant(pool, actor), { accountIds: [actor.accountId] })).map(toEndpointOut),
  });

  app.get(`${ENDPOINTS}/:id`, {
    onRequest,
    schema: {
      tags,
      operationId: 'findEndpoint',
      summary: 'Get an endpoint',
      params: Params,
      response: { 200: EndpointOut },
    },
    handler: async ({ actor, params }) => toEndpointOut(await find(actor, params)),
  });

  app.patch(`${ENDPOINTS}/:id`, {
    onRequest,
    schema: {
      tags,
      operationId: 'updateEndpoint',
      summary: 'Change, pause or resume an endpoint',
      description:
        'Fields that are omitted stay as they are; `headers` replaces all. ACTIVE also enables a disabled endpoint. Of `default` ' +
        'only the status changes here.',
      params: Params,
      body: withExamples(EndpointChange, { status: 'PAUSED' }),
      response: { 200: EndpointOut },
    },
    preHandler: async ({ actor, params, body }) => {
      await find(actor, params);
      check(body);
      if (body.url !== undefined) await checkUrl(outlet.guard, 'url', body.url);
    },
    handler: ({ actor, params, body: { status, ...change } }) =>
      tenantTransaction(pool, actor, async (tx) => {
        const place = { accountId: actor.accountId, ref: refOf(params.id) };
        const before = await findEndpoint(tx, place);
        if (!before) throw noWebhook();
        if (Object.keys(change).length > 0) {
          if (before.form !== 'V2')
            throw new AppError('conflict', { message: 'Of the endpoint default only the status changes here' });
          await changeEndpoint(tx, actor, {
            secretKey,
            ...before,
            ...change,
            headers: change.headers,
            // Another receiver sees amounts only if the actor may: a key must not obtain them by its own URL.
            showsAmounts:
              before.showsAmounts &&
              (change.url === undefined || change.url === before.url || actor.operations.has('money')),
          });
        }
        const wanted = status?.toLowerCase();
        if (wanted === 'paused' && before.status !== 'paused') await pauseEndpoint(tx, actor, place);
        if (wanted === 'active' && before.status !== 'active') await enableEndpoint(tx, actor, place);
        return toEndpointOut((await findEndpoint(tx, place)) ?? before);
      }),
  });

  app.delete(`${ENDPOINTS}/:id`, {
    onRequest,
    schema: {
      tags,
      operationId: 'deleteEndpoint',
      summary: 'Delete an endpoint and the events that wait for it',
      params: Params,
      response: { 204: Type.Null({ description: 'Deleted' }) },
    },
    handler: ({ actor, params }) =>
      tenantTransaction(pool, actor, (tx) => removeEndpoint(tx, actor, { ref: refOf(params.id) })),
  });

  app.post(`${ENDPOINTS}/:id/secret`, {
    onRequest,
    config: { secretAnswer: true },
    schema: {
      tags,
      operationId: 'rotateEndpointSecret',
      summary: 'Rotate the secret of an endpoint',
      description: 'The new secret is shown only in this response. For 24 hours events carry two signatures.',
      params: Params,
      response: { 200: SecretOut },
    },
    handler: idempotentTx({ pool, answers }, 200, async ({ actor, params }, tx) => {
      const { plainSecret, previousSecretUntil } = await rotateSecret(tx, actor, { secretKey, ref: refOf(params.id) });
      return { secret: plainSecret, previousSecretUntil: previousSecretUntil?.toISOString() ?? null };
    }),
  });

  app.post(`${ENDPOINTS}/:id/test`, {
    onRequest,
    config: { stepUp: { exempt: 'sends a sample to where events go already' } },
    schema: {
      tags,
      operationId: 'testEndpoint',
      summary: 'Send a test event to an endpoint',
      description:
        'Sends one signed sample event, whatever its types and state, and returns the result. It is not repeated and not logged.',
      params: Params,
      response: { 200: TestOut },
    },
    handler: idempotentHandler({ answers }, async ({ actor, params }, _reply, pendingAnswer) => {
      const tested = testedOf(await sendTest({ ...outlet, secretKey }, await find(actor, params), clock.now()));
      if (pendingAnswer) await answers.storeSoon(pendingAnswer.seal(tested));
      return tested;
    }),
  });

  app.post(`${ENDPOINTS}/:id/enable`, {
    onRequest,
    schema: {
      tags,
      operationId: 'enableEndpoint',
      summary: 'Enable a disabled or paused endpoint',
      description: '409 if it is active.',
      params: Params,
      response: { 200: EndpointOut },
    },
    handler: idempotentTx({ pool, answers }, 200, async ({ actor, params }, tx) => {
      const place = { accountId: actor.accountId, ref: refOf(params.id) };
      await enableEndpoint(tx, actor, place);
      const endpoint = await findEndpoint(tx, place);
      if (!endpoint) throw noWebhook();
      return toEndpointOut(endpoint);
    }),
  });

  async function find(actor: Actor, { id }: Static<typeof Params>): Promise<Endpoint> {
    const endpoint = await findEndpoint(tenant(pool, actor), { accountId: actor.accountId, ref: refOf(id) });
    if (!endpoint) throw noWebhook();
    return endpoint;
  }

  const toEndpointOut = (endpoint: Endpoint): Static<typeof EndpointOut> => ({
    id: endpoint.ref === 0 ? 'default' : String(endpoint.ref),
    name: endpoint.name,
    url: endpoint.url,
    format: endpoint.form === 'V2' ? 'v2' : 'v1',
    eventTypes: [...endpoint.eventTypes],
    filters: endpoint.filters,
    headers: headerNames(endpoint),
    retry: endpoint.retry,
    maxPerSecond: endpoint.maxPerSecond,
    state: endpoint.status.toUpperCase() as Uppercase<Endpoint['status']>,
    reason: endpoint.disabledReason,
    since: endpoint.since.toISOString(),
    failingSince: endpoint.failingSince?.toISOString() ?? null,
    createdAt: endpoint.createdAt.toISOString(),
    updatedAt: endpoint.updatedAt.toISOString(),
  });

  function headerNames(endpoint: Endpoint): string[] {
    try {
      return Object.keys(openHeaders(secretKey, endpoint));
    } catch {
      return [];
    }
  }
}

type Given = Partial<Pick<Static<typeof EndpointIn>, 'eventTypes' | 'filters' | 'headers'>>;

const settingsOf = ({
  url,
  name,
  eventTypes,
  filters = {},
  headers = {},
  retry = 'full',
  maxPerSecond = null,
}: Static<typeof EndpointIn>): Omit<EndpointSettings, 'showsAmounts'> => ({
  url,
  name: name ?? new URL(url).host,
  eventTypes,
  filters,
  headers,
  retry,
  maxPerSecond,
});

const RESERVED =
  /^(webhook-|content-|host$|connection$|transfer-encoding$|user-agent$|traceparent$|tracestate$|expect$|te$|trailer$|upgrade$|keep-alive$|proxy-)/i;

/** Checks what the schemas cannot. Errors: 400 that names every field. */
function check({ eventTypes = [], filters = {}, headers = {} }: Given): void {
  const details: FieldError[] = [
    ...eventTypes.flatMap((type, n) =>
      typesOf(type).length > 0 ? [] : [{ field: `eventTypes[${n}]`, message: unknownType(type) }],
    ),
    ...unknownCountries(filters).map((country) => ({
      field: 'filters.countries',
      message: `has an unknown country, ${country}`,
    })),
    ...Object.entries(headers).flatMap(([name, value]) =>
      RESERVED.test(name)
        ? [{ field: `headers.${name}`, message: 'is set by the gateway' }]
        : /^[\x20-\x7e]*$/.test(value)
          ? []
          : [{ field: `headers.${name}`, message: 'must be printable ASCII' }],
    ),
  ];
  if (details.length > 0) throw invalidFields(details);
}

/** Returns the error for a type that does not exist. */
export function unknownType(type: string): string {
  const nearest = nearestName(type, EVENT_TYPE_NAMES);
  return nearest === null ? 'is unknown: see GET …/webhooks/event-types' : `is unknown, did you mean ${nearest}`;
}
