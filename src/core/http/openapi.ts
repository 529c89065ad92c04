import { STATUS_CODES } from 'node:http';
import swagger, { type SwaggerTransform, type SwaggerTransformObject } from '@fastify/swagger';
import type { FastifySchema, RouteOptions } from 'fastify';
import { type TSchema, Type } from 'typebox';
import packageJson from '../../../package.json' with { type: 'json' };
import { ERRORS, type ErrorCode } from '../errors.ts';
import { isRecord } from '../schema.ts';
import { type App, SHARED_SCHEMAS } from './app.ts';
import { accessToRoute, isExempt, type StepUp } from './auth.ts';
import { requireSameOrigin } from './browser.ts';
import { acceptsKey } from './idempotency.ts';

const INTRODUCTION = `SMS, RCS and WhatsApp behind one REST API.

Every response has an \`X-Request-Id\` header; quote it when you ask for support. Requests are rate-limited per key:
\`X-RateLimit-Limit\` is the number of requests per minute, \`X-RateLimit-Remaining\` the number that are left, and
\`X-RateLimit-Reset\` the number of seconds until more become available. Beyond the limit, or with too many requests in
one second, the response is 429 with \`Retry-After\`; all keys of an account together have twice the limit of one. On 401
these headers count failed attempts from your address; 2147483647 means no limit. All errors have one shape (\`Error\`), with every invalid field in \`details\`. Wrong types
are rejected. Unknown fields are ignored, and the response to a POST, PUT or PATCH names them in \`warnings\` (in the
header \`X-Warnings\` if it is not an object); with the header \`Prefer: handling=strict\` they are a 400. Lists are
paginated: \`page\` starts at 0, \`limit\` is at most 1,000.

Each operation lists in \`x-scope\` the scopes that its caller needs, each with the access within it. A user's role has
scopes, and a key has some of those of its user's role; without them the response is 403. Amounts in responses are null
without the scope \`money\`, and the names of contacts are omitted without \`contacts\`. For an operation with \`x-step-up\`
(or, with \`x-step-up-for\`, for those requests), a session must have shown a password, a code or a passkey within the
last ten minutes, otherwise 403 with the code \`step_up_required\`: see \`POST /session/step-up\`. Keys need none.`;

/** The ways to authenticate: a key, a user's password or the console's cookie, unless an operation defines others. */
const SECURITY = {
  apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
  basic: { type: 'http', scheme: 'basic' },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: '__Host-heliograph',
    description:
      'From `POST /session`. Requests that change something also need the header `X-Heliograph-Console: 1` and the ' +
      'origin of the gateway, as that operation describes them.',
  },
} as const;

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The parts of a multipart/form-data body, for the OpenAPI description. */
    form?: TSchema;
    /** True if there may be nothing at a path without parameters: its description has a 404. */
    mayBeMissing?: boolean;
  }
}

/** The areas of the API, in reading order; each operation names its area in `tags`. */
const TAGS = [
  { name: 'Sending', description: 'Single messages and bulk' },
  { name: 'WhatsApp', description: 'Single messages, templates and phone numbers' },
  { name: 'RCS', description: 'Single messages, templates and agents' },
  { name: 'Verify', description: 'Codes that verify numbers, and the guard against SMS pumping' },
  { name: 'Tracking', description: 'Status and history of messages' },
  { name: 'Campaigns', description: 'Messages to many recipients, from the draft to the figures' },
  { name: 'Contacts', description: 'Contacts and contact lists' },
  { name: 'Inbox', description: 'Conversations' },
  { name: 'Webhooks', description: 'Events sent to your server' },
  { name: 'Exports', description: 'Files of messages, contacts and delivery reports' },
  { name: 'Media', description: 'Pictures and videos' },
  { name: 'Social profiles', description: 'Connections to social networks' },
  { name: 'API keys', description: 'Credentials of programs' },
  { name: 'SMPP', description: 'Credentials of programs that bind over SMPP' },
  { name: 'Account', description: 'Plan, credit, security' },
  { name: 'Sessions', description: 'Users signed in to the console' },
  {
    name: 'Operator: accounts',
    description: 'All accounts. This area and the following ones are for operators of the gateway only',
  },
  { name: 'Operator: prices', description: 'Prices of messages, by channel and number prefix' },
  { name: 'Operator: costs', description: 'Charges of carriers, by connection, number prefix and network' },
  { name: 'Operator: connections', description: 'Links to carriers' },
  { name: 'Operator: routes', description: 'Connections by number prefix' },
  { name: 'Operator: senders', description: 'Senders, inbound numbers and templates of all accounts' },
  { name: 'Operator: queues', description: 'Waiting work and the workers that process it' },
  { name: 'Operator: SMPP', description: 'Customers bound over SMPP, and messages waiting for them' },
  { name: 'Operator: open unknowns', description: 'Messages submitted without a response' },
  { name: 'Operator: sending', description: 'Pause and resume all sending' },
  { name: 'Operator: alerts', description: 'Persistent problems, and who is notified' },
  { name: 'Operator: health', description: 'Overview, reconciliation, doctor, audit' },
  { name: 'Operation', description: 'Health, metrics and carrier callbacks, for those who run the server' },
];

/**
 * Makes `app.swagger()` return the OpenAPI 3.1 description of the routes registered after this call and of these
 * webhooks, with the recorded examples. They are read when the description is generated.
 */
export function describeApi(
  app: App,
  readExamples: () => RecordedExamples = () => ({}),
  { webhooks, schemas }: Record<'webhooks' | 'schemas', Record<string, object>> = { webhooks: {}, schemas: {} },
): void {
  for (const schema of SHARED_SCHEMAS) app.addSchema(schema);
  app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Heliograph',
        version: packageJson.version,
        description: INTRODUCTION,
        // The operator of a gateway is not known here; its users can ask that person.
        contact: { name: 'The operator of this gateway' },
        license: { name: packageJson.license, identifier: packageJson.license },
      },
      servers: [{ url: '/', description: 'The gateway that serves this description.' }],
      components: { securitySchemes: SECURITY, schemas },
      webhooks,
      security: [{ apiKey: [] }, { basic: [] }, { session: [] }],
      tags: TAGS,
    },
    refResolver: {
      buildLocalReference: ({ $id }, _base, _fragment, i) => (typeof $id === 'string' ? $id : `schema${i}`),
    },
    transform: withErrors,
    transformObject: finishWith(readExamples),
  });
}

/** Described on every operation that accepts it; src/core/http/idempotency.ts reads the header. */
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

/** Described on every operation for the console's own pages; src/core/http/browser.ts reads the headers. */
const OwnPageHeaders = Type.Object({
  'X-Heliograph-Console': Type.Literal('1', {
    description: 'Required on console requests (CSRF guard); otherwise 403.',
    examples: ['1'],
  }),
  Origin: Type.Optional(
    Type.String({
      description:
        'The origin of the gateway, such as https://gateway.example.com; browsers send it automatically. Required ' +
        'unless `Sec-Fetch-Site` is `same-origin`; otherwise 403.',
    }),
  ),
});

/** Adds the headers and errors that a route does not declare itself, for the description only. */
const withErrors: SwaggerTransform = ({ schema, url, route }) => {
  if (schema === undefined || schema.hide === true) return { schema: { ...schema, hide: true }, url };
  const keyed = schema.security?.length !== 0 && acceptsKey(route);
  const errors = Object.fromEntries(
    errorsOf({ ...schema, ...formOf(route) }, route, url).map((status) => [status, errorAnswer(url, status)]),
  );
  const warned = [route.method].flat().some((method) => ['POST', 'PUT', 'PATCH'].includes(method));
  const answers = Object.entries(isRecord(schema.response) ? schema.response : {})
    .map(([status, answer]) => [status, warned && status.startsWith('2') ? withWarnings(answer) : answer] as const)
    .map(described);
  const headers = headersOf(keyed, [route.onRequest].flat().includes(requireSameOrigin));
  const response = { ...errors, ...Object.fromEntries(answers) };
  return { schema: { ...schema, ...formOf(route), ...accessTo(schema, route), ...headers, response }, url };
};

function headersOf(keyed: boolean, isForOwn: boolean): { headers?: TSchema } {
  const properties = { ...(isForOwn && OwnPageHeaders.properties), ...(keyed && KeyHeader.properties) };
  return Object.keys(properties).length > 0 ? { headers: Type.Object(properties) } : {};
}

/**
 * Returns the access rules of the operation: in extensions for programs, and in sentences of the description for
 * people.
 */
function accessTo(schema: FastifySchema, { method, onRequest, config }: RouteOptions) {
  const access = accessToRoute({ method, onRequest, schema, config });
  if (access === undefined) return {};
  const { scope, roles, stepUp, text } = access;
  const description = schema.description === undefined ? text : `${schema.description}\n\n${text}`;
  return { description, 'x-scope': scope, 'x-roles': roles, ...stepUpExtensions(stepUp) };
}

function stepUpExtensions(stepUp: StepUp | undefined) {
  if (stepUp === undefined || isExempt(stepUp)) return {};
  return stepUp === true ? { 'x-step-up': true } : { 'x-step-up': true, 'x-step-up-for': stepUp.only };
}

/** A form is streamed, so no schema checks it; this describes it. */
const formOf = ({ config }: RouteOptions) =>
  config?.form ? { consumes: ['multipart/form-data'], body: config.form } : {};

/** The statuses of the errors that a route can return, as far as its description shows. */
function errorsOf(schema: FastifySchema, route: RouteOptions, url: string): number[] {
  const open = schema.security?.length === 0;
  const keyed = !open && acceptsKey(route);
  const { body, querystring, params, headers } = schema;
  return [
    ...([body, querystring, params, headers].some(Boolean) || keyed ? [400] : []),
    ...(open ? errorsOfOpen(url) : [401, 403, 429]),
    ...(params || route.config?.mayBeMissing ? [404] : []),
    ...(keyed ? [409] : []),
    ...(body ? [413, 415] : []),
    ...(route.method === 'GET' && open ? [] : [500, 503]),
  ];
}

/** Plaintext from the network is 403, except for probes. */
const errorsOfOpen = (url: string): number[] => (url.startsWith('/health/') ? [] : [403]);

/** Adds the field that `warnOfUnknownFields` adds to objects. */
function withWarnings(answer: unknown): unknown {
  if (!isRecord(answer)) return answer;
  const { anyOf, properties } = answer;
  if (Array.isArray(anyOf)) return { ...answer, anyOf: anyOf.map(withWarnings) };
  return isRecord(properties) ? { ...answer, properties: { ...properties, warnings: WARNINGS } } : answer;
}

const WARNINGS = Type.Array(Type.String(), {
  description:
    'The fields of the request that are unknown, with the name that was probably meant; absent if there are none.',
});

/**
 * A response without a description gets the name of its status. An error is JSON, whatever a route's other responses
 * are.
 */
function described([status, answer]: readonly [string, unknown]): [string, unknown] {
  if (!isRecord(answer)) return [status, answer];
  const { $ref, description = STATUS_CODES[status], ...rest } = answer;
  if ($ref === undefined || status < '400') return [status, { description, ...answer }];
  return [status, { ...rest, description, content: { 'application/json': { schema: { $ref } } } }];
}

const errorAnswer = (url: string, status: number) => ({
  description: STATUS_CODES[status],
  content: {
    'application/json': {
      schema: { $ref: `${url.startsWith('/services/') ? 'WholesaleError' : 'Error'}#` },
    },
  },
});

const finishWith =
  (readExamples: () => RecordedExamples): SwaggerTransformObject =>
  (document) => {
    if (!('openapiObject' in document)) return document.swaggerObject;
    const { openapiObject } = document;
    const operations = Object.values(openapiObject.paths ?? {}).flatMap((path) => Object.values(path ?? {}));
    markOptionalBodies(operations);
    markOptionalParameters(operations);
    addRecorded(operations, readExamples());
    Object.assign(openapiObject.components ?? {}, { responses: shareErrors(operations) });
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

/** A parameter with a default always has a value for its handler, but callers may omit it. */
function markOptionalParameters(operations: readonly unknown[]): void {
  for (const parameter of operations.flatMap((operation) => inside(operation, 'parameters') ?? [])) {
    if (isRecord(parameter) && inside(parameter, 'schema', 'default') !== undefined) parameter['required'] = false;
  }
}

const inside = (value: unknown, ...keys: string[]): unknown =>
  keys.reduce<unknown>((at, key) => (isRecord(at) ? at[key] : undefined), value);

/** The error of each status in the examples; for a status with several errors, the most common one. */
const EXAMPLES: Readonly<Record<number, ErrorCode>> = {
  400: 'invalid',
  401: 'unauthenticated',
  403: 'forbidden',
  404: 'not_found',
  409: 'conflict',
  410: 'gone',
  413: 'too_large',
  415: 'unsupported_media_type',
  416: 'range_not_satisfiable',
  429: 'rate_limited',
  500: 'internal',
  502: 'bad_gateway',
  503: 'unavailable',
};
const DETAILS = [{ field: 'name', message: 'is required' }];
const REQUEST_ID = '01a1fd63-cf7c-7183-929b-46bc3bfe6f71';
const RETRY_AFTER_SECONDS = 2;

type Shape = 'Error' | 'WholesaleError';

/** The name under `components` of the response that an operation has for an error, as in `Error404`. */
const nameOf = (shape: Shape, status: number): string => `${shape}${status}`;

/** An error of this status as a client would receive it, in the shape of its API. */
function exampleOf(shape: Shape, status: number): object {
  const message = ERRORS[EXAMPLES[status] ?? 'invalid'][1];
  const retry = status === 429 || status === 503 ? { retryAfter: RETRY_AFTER_SECONDS } : {};
  if (shape === 'WholesaleError') return { status: 'error', message, code: status, requestId: REQUEST_ID, ...retry };
  return {
    status,
    error: STATUS_CODES[status],
    message: status === 400 ? DETAILS.map(({ field, message: fault }) => `${field}: ${fault}`).join('; ') : message,
    requestId: REQUEST_ID,
    ...(status === 400 ? { details: DETAILS } : {}),
    ...retry,
  };
}

const responseOf = (shape: Shape, status: number): object => ({
  description: STATUS_CODES[status],
  content: {
    'application/json': { schema: { $ref: `#/components/schemas/${shape}` }, example: exampleOf(shape, status) },
  },
});

/**
 * Gives every error of these operations an example, and moves those without their own description into
 * `components`, which shortens the description by three quarters. Returns the responses for `components`.
 */
function shareErrors(operations: readonly unknown[]): Record<string, object> {
  const shared: Record<string, object> = {};
  for (const operation of operations) {
    const responses = isRecord(operation) ? operation['responses'] : undefined;
    if (!isRecord(responses)) continue;
    for (const [key, response] of Object.entries(responses)) {
      const [status, media] = [Number(key), mediaOf(response)];
      const shape = shapeOf(media);
      if (shape === undefined || !isRecord(response) || media === undefined) continue;
      if (media['example'] === undefined && response['description'] === STATUS_CODES[status]) {
        shared[nameOf(shape, status)] ??= responseOf(shape, status);
        responses[key] = { $ref: `#/components/responses/${nameOf(shape, status)}` };
      } else media['example'] ??= exampleOf(shape, status);
    }
  }
  return Object.fromEntries(Object.entries(shared).toSorted(([a], [b]) => a.localeCompare(b)));
}

/** Returns the JSON content of a response, if it has one. */
function mediaOf(response: unknown): Record<string, unknown> | undefined {
  const content = isRecord(response) ? response['content'] : undefined;
  const media = isRecord(content) ? content['application/json'] : undefined;
  return isRecord(media) ? media : undefined;
}

function shapeOf(media: Record<string, unknown> | undefined): Shape | undefined {
  const reference = isRecord(media?.['schema']) ? media['schema']['$ref'] : undefined;
  if (reference === '#/components/schemas/Error') return 'Error';
  return reference === '#/components/schemas/WholesaleError' ? 'WholesaleError' : undefined;
}

/**
 * The example request of one operation and the response of a running program, with made-up values instead of those that
 * are secret or differ each time. The body of a request is not here: it is in the route's own schema.
 */
export type RecordedExample = {
  readonly path?: Readonly<Record<string, unknown>>;
  readonly query?: Readonly<Record<string, unknown>>;
  /** The fields of a multipart/form-data body; a file is represented by its content. */
  readonly form?: Readonly<Record<string, unknown>>;
  readonly status: number;
  /** Absent if the response has no body. */
  readonly answer?: unknown;
  /** The error (400) of a request with an empty body. */
  readonly refusal?: object;
};

/** Recorded examples of each operation, by its operationId. */
export type RecordedExamples = Readonly<Record<string, RecordedExample>>;

/** Adds recorded examples to operations of an OpenAPI description: of parameters, forms and responses. */
function addRecorded(operations: readonly unknown[], recorded: RecordedExamples): void {
  for (const operation of operations) {
    const example = isRecord(operation) ? recorded[String(operation['operationId'])] : undefined;
    if (!isRecord(operation) || example === undefined) continue;
    const { path = {}, query = {}, form, status, answer, refusal } = example;
    for (const parameter of listOf(operation['parameters'])) {
      const value = parameter['in'] === 'path' ? path[String(parameter['name'])] : query[String(parameter['name'])];
      if (value !== undefined) parameter['example'] ??= asParameter(value, parameter['schema']);
    }
    setExample(operation['requestBody'], form);
    const responses = isRecord(operation['responses']) ? operation['responses'] : {};
    setExample(responses[status], answer);
    setExample(responses[400], refusal);
  }
}

/** A program may build the path or the query from a number although the API reads text. */
const asParameter = (value: unknown, schema: unknown): unknown =>
  isRecord(schema) && schema['type'] === 'string' ? String(value) : value;

const listOf = (value: unknown) => (Array.isArray(value) ? value.filter(isRecord) : []);

/** Sets the example of the only content of a request body or a response. */
function setExample(holder: unknown, example: unknown): void {
  const content = isRecord(holder) && isRecord(holder['content']) ? holder['content'] : {};
  const [media] = Object.values(content);
  if (example !== undefined && isRecord(media)) media['example'] ??= example;
}
