import swagger, { type SwaggerTransform, type SwaggerTransformObject } from '@fastify/swagger';
import type { FastifySchema, RouteOptions } from 'fastify';
import { STATUS_CODES } from 'node:http';
import packageJson from '../../../package.json' with { type: 'json' };
import { type TSchema, Type } from 'typebox';
import type { App } from './app.ts';
import { acceptsKey } from './idempotency.ts';
import { SHARED_SCHEMAS } from './schema.ts';
import { isRecord } from '../lib/is-record.ts';

const INTRODUCTION = `SMS, RCS and WhatsApp behind one REST API.

Every response has an \`X-Request-Id\` header; quote it when you ask for support. Requests are rate-limited per key:
\`X-RateLimit-Limit\` is the number of requests per minute, \`X-RateLimit-Remaining\` how many of them are left, and
\`X-RateLimit-Reset\` the number of seconds until more become available. Beyond the limit, or with too many requests in
one second, the response is 429 with \`Retry-After\`. On 401 these headers count failed attempts from your address;
2147483647 means no limit. All errors have one shape (\`Error\`), with every invalid field in \`details\`. Unknown fields
are ignored; wrong types are rejected. Lists are paginated: \`page\` starts at 0, \`limit\` is at most 1,000.`;

/** The ways to authenticate: a key, a user's password or the console's cookie, unless an operation defines others. */
const SECURITY = {
  apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
  basic: { type: 'http', scheme: 'basic' },
  session: { type: 'apiKey', in: 'cookie', name: '__Host-heliograph' },
} as const;

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The parts of a multipart/form-data body, for the OpenAPI description. */
    form?: TSchema;
  }
}

/** The areas of the API, in reading order; each operation names its area in `tags`. */
const TAGS = [
  { name: 'Sending', description: 'Single messages and bulk' },
  { name: 'WhatsApp', description: 'Single messages, templates and phone numbers' },
  { name: 'RCS', description: 'Single messages, templates and agents' },
  { name: 'Tracking', description: 'Status and history of messages' },
  { name: 'Campaigns' },
  { name: 'Contacts', description: 'Contacts and contact lists' },
  { name: 'Inbox', description: 'Conversations' },
  { name: 'Webhooks', description: 'Events sent to your server' },
  { name: 'Exports' },
  { name: 'Media' },
  { name: 'Social profiles' },
  { name: 'API keys' },
  { name: 'Account', description: 'Plan, credit, security' },
  { name: 'Sessions', description: 'Users signed in to the console' },
  {
    name: 'Operator: accounts',
    description: 'All accounts. This area and the following ones are for operators of the gateway only',
  },
  { name: 'Operator: prices' },
  { name: 'Operator: connections', description: 'Links to carriers' },
  { name: 'Operator: routes', description: 'Which connection sends to which numbers' },
  { name: 'Operator: senders', description: 'Senders, inbound numbers and templates of all accounts' },
  { name: 'Operator: queues', description: 'Waiting work and the workers that process it' },
  { name: 'Operator: open unknowns', description: 'Messages whose submission was never answered' },
  { name: 'Operator: sending', description: 'Pause and resume all sending' },
  { name: 'Operator: health', description: 'Overview, reconciliation, doctor, audit' },
  { name: 'Operation', description: 'Health, metrics and carrier callbacks, for those who run the server' },
];

/** Makes `app.swagger()` return the OpenAPI 3.1 description of the routes registered after this call. */
export function describeApi(app: App): void {
  for (const schema of SHARED_SCHEMAS) app.addSchema(schema);
  app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'Heliograph', version: packageJson.version, description: INTRODUCTION },
      components: { securitySchemes: SECURITY },
      security: [{ apiKey: [] }, { basic: [] }, { session: [] }],
      tags: TAGS,
    },
    refResolver: {
      buildLocalReference: ({ $id }, _base, _fragment, i) => (typeof $id === 'string' ? $id : `schema${i}`),
    },
    transform: withErrors,
    transformObject: finished,
  });
}

/** Described on every operation that accepts it; src/platform/http/idempotency.ts reads the header. */
const KeyHeader = Type.Object({
  'Idempotency-Key': Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      pattern: '^[\\x20-\\x7e]+$',
      description:
        'Your identifier of this request: printable ASCII, unique in your account for 24 hours. Repeating the request ' +
        'with the same key does nothing and returns the first response, with `Idempotency-Replayed: true`. Using the key ' +
        'for a different request, or while the first is in progress, is 409.',
    }),
  ),
});

/** Adds the headers and errors that a route does not declare itself, for the description only. */
const withErrors: SwaggerTransform = ({ schema, url, route }) => {
  if (schema === undefined || schema.hide === true) return { schema: { ...schema, hide: true }, url };
  const keyed = schema.security?.length !== 0 && acceptsKey(route);
  const errors = Object.fromEntries(
    errorsOf({ ...schema, ...formOf(route) }, route).map((status) => [status, errorAnswer(url, status)]),
  );
  const answers = Object.entries(isRecord(schema.response) ? schema.response : {}).map(described);
  const headers = keyed ? { headers: KeyHeader } : {};
  return {
    schema: { ...schema, ...formOf(route), ...headers, response: { ...errors, ...Object.fromEntries(answers) } },
    url,
  };
};

/** A form is streamed, so no schema checks it; this describes it. */
const formOf = ({ config }: RouteOptions) =>
  config?.form ? { consumes: ['multipart/form-data'], body: config.form } : {};

/** The statuses of the errors that a route can return, as far as its description tells. */
function errorsOf(schema: FastifySchema, route: RouteOptions): number[] {
  const open = schema.security?.length === 0;
  const keyed = !open && acceptsKey(route);
  const { body, querystring, params, headers } = schema;
  return [
    ...(body || querystring || params || headers || keyed ? [400] : []),
    ...(open ? [] : [401, 403, 429]),
    ...(params ? [404] : []),
    ...(keyed ? [409] : []),
    ...(body ? [413, 415] : []),
    ...(route.method === 'GET' && open ? [] : [500, 503]),
  ];
}

/** A response without a description gets the name of its status. */
const described = ([status, answer]: [string, unknown]): [string, unknown] => [
  status,
  isRecord(answer) ? { description: STATUS_CODES[status], ...answer } : answer,
];

const errorAnswer = (url: string, status: number) => ({
  description: STATUS_CODES[status],
  content: {
    'application/json': {
      schema: { $ref: `${url.startsWith('/services/') ? 'WholesaleError' : 'Error'}#` },
    },
  },
});

const finished: SwaggerTransformObject = (document) => {
  if (!('openapiObject' in document)) return document.swaggerObject;
  const { openapiObject } = document;
  const operations = Object.values(openapiObject.paths ?? {}).flatMap((path) => Object.values(path ?? {}));
  markOptionalBodies(operations);
  markOptionalParameters(operations);
  const used = new Set(operations.flatMap((operation) => inside(operation, 'tags')));
  return { ...openapiObject, tags: TAGS.filter(({ name }) => used.has(name)) };
};

/** A schema expresses an optional body as one that may be `null`; the description marks it as not required. */
function markOptionalBodies(operations: readonly unknown[]): void {
  for (const operation of operations) {
    const body = inside(operation, 'requestBody');
    const forms = inside(body, 'content', 'application/json', 'schema', 'anyOf');
    if (isRecord(body) && Array.isArray(forms) && forms.some((form) => inside(form, 'type') === 'null')) {
      body['required'] = false;
    }
  }
}

/** A parameter with a default always has a value for its handler, but callers may leave it out. */
function markOptionalParameters(operations: readonly unknown[]): void {
  for (const parameter of operations.flatMap((operation) => inside(operation, 'parameters') ?? [])) {
    if (isRecord(parameter) && inside(parameter, 'schema', 'default') !== undefined) parameter['required'] = false;
  }
}

const inside = (value: unknown, ...keys: string[]): unknown =>
  keys.reduce<unknown>((at, key) => (isRecord(at) ? at[key] : undefined), value);
