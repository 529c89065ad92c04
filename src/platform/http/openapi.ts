import swagger, { type SwaggerTransform, type SwaggerTransformObject } from '@fastify/swagger';
import type { FastifySchema, RouteOptions } from 'fastify';
import { STATUS_CODES } from 'node:http';
import packageJson from '../../../package.json' with { type: 'json' };
import { type TSchema, Type } from 'typebox';
import type { App } from './app.ts';
import { takesKey } from './idempotency.ts';
import { SHARED_SCHEMAS } from './schema.ts';

const INTRODUCTION = `SMS, RCS and WhatsApp behind one REST interface.

Every answer carries \`X-Request-Id\`; name it when you ask for help. Each key has a limit of requests:
\`X-RateLimit-Limit\` is what a minute takes, \`X-RateLimit-Remaining\` what is left of it, \`X-RateLimit-Reset\` the
seconds until some of it comes back; beyond it, or too many in one second, is 429 with \`Retry-After\`. On 401 they speak
of failed attempts from your address; 2147483647 is no limit. Errors have one shape (\`Error\`), with every field
at fault in \`details\`. Unknown fields are ignored, wrong types refused. Lists are pages: \`page\` from 0, \`limit\` at
most 1,000.`;

/** How callers show who they are: a key, a user's password or the cookie of the console, on every operation that does not say otherwise. */
const SECURITY = {
  apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
  basic: { type: 'http', scheme: 'basic' },
  session: { type: 'apiKey', in: 'cookie', name: '__Host-heliograph' },
} as const;

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The parts of a multipart/form-data body, for the description. */
    form?: TSchema;
  }
}

/** The areas of the interface, in reading order; an operation names its own in `tags`. */
const TAGS = [
  { name: 'Sending', description: 'Single messages and bulk' },
  { name: 'WhatsApp', description: 'Single messages, templates and phone numbers' },
  { name: 'RCS', description: 'Single messages, templates and agents' },
  { name: 'Tracking', description: 'What became of messages' },
  { name: 'Campaigns' },
  { name: 'Contacts', description: 'Contacts and contact lists' },
  { name: 'Inbox', description: 'Conversations' },
  { name: 'Webhooks', description: 'Events to your server' },
  { name: 'Exports' },
  { name: 'Media' },
  { name: 'Social profiles' },
  { name: 'API keys' },
  { name: 'Account', description: 'Plan, credit, security' },
  { name: 'Sessions', description: 'People who are signed in at the console' },
  {
    name: 'Operator: accounts',
    description: 'For operators of the gateway alone, like all that follows: every account',
  },
  { name: 'Operator: prices' },
  { name: 'Operator: connections', description: 'Links to carriers' },
  { name: 'Operator: routes', description: 'Which connection takes which numbers' },
  { name: 'Operator: senders', description: 'Senders, inbound numbers and templates of all accounts' },
  { name: 'Operator: queues', description: 'What waits, and who sees to it' },
  { name: 'Operator: open unknowns', description: 'Messages that were never answered' },
  { name: 'Operator: sending', description: 'Pause and resume all of it' },
  { name: 'Operator: health', description: 'Overview, reconciliation, doctor, audit' },
  { name: 'Operation', description: 'Health, measurements and callbacks of carriers, for those who run the server' },
];

/** Makes `app.swagger()` the OpenAPI 3.1 description of the routes registered after it. */
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

/** Described on every operation that takes it; src/platform/http/idempotency.ts reads it. */
const KeyHeader = Type.Object({
  'Idempotency-Key': Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      pattern: '^[\\x20-\\x7e]+$',
      description:
        'Your name for this request, printable ASCII, unique in your account for 24 hours: sent again, it does nothing ' +
        'and gets the first answer, with `Idempotency-Replayed: true`. For another request, or while the first is under ' +
        'way, 409.',
    }),
  ),
});

/** Adds the header and the errors that a route can answer with besides what it says itself, for the description only. */
const withErrors: SwaggerTransform = ({ schema, url, route }) => {
  if (schema === undefined || schema.hide === true) return { schema: { ...schema, hide: true }, url };
  const keyed = schema.security?.length !== 0 && takesKey(route);
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

/** A form is read as it comes, so no schema checks it. */
const formOf = ({ config }: RouteOptions) =>
  config?.form ? { consumes: ['multipart/form-data'], body: config.form } : {};

/** The statuses of the errors that a route can answer with, as far as its description tells. */
function errorsOf(schema: FastifySchema, route: RouteOptions): number[] {
  const open = schema.security?.length === 0;
  const keyed = !open && takesKey(route);
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

/** An answer that says nothing of itself is called by its status. */
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

/** A body that may be left out is `null` to its schema; in the description it is one that is not required. */
function markOptionalBodies(operations: readonly unknown[]): void {
  for (const operation of operations) {
    const body = inside(operation, 'requestBody');
    const forms = inside(body, 'content', 'application/json', 'schema', 'anyOf');
    if (isRecord(body) && Array.isArray(forms) && forms.some((form) => inside(form, 'type') === 'null')) {
      body['required'] = false;
    }
  }
}

/** A parameter with a default is there for its handler, and may be left out by who asks. */
function markOptionalParameters(operations: readonly unknown[]): void {
  for (const parameter of operations.flatMap((operation) => inside(operation, 'parameters') ?? [])) {
    if (isRecord(parameter) && inside(parameter, 'schema', 'default') !== undefined) parameter['required'] = false;
  }
}

const inside = (value: unknown, ...keys: string[]): unknown =>
  keys.reduce<unknown>((at, key) => (isRecord(at) ? at[key] : undefined), value);

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;
