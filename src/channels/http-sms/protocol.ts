import { isTlvVariable } from '../message-tlvs.ts';
import Type, { type Static, type TProperties } from 'typebox';
import { splitPlaceholders } from '../../core/schema.ts';
import type { ReceiptState } from '../carrier.ts';
import { parseSettings } from '../settings.ts';
import { variablesIn } from './template.ts';

// The protocol of a carrier, as settings describe it.

const Template = (description?: string) =>
  Type.String({ maxLength: 2000, ...(description !== undefined && { description }) });
/** A JSON pointer, `header:…`, `query:…`, or `text:` with one `*`; several with ` | ` between them. */
const Place = (description?: string) =>
  Type.String({
    pattern: '^(/|header:[A-Za-z0-9-]|query:.|text:.*\\*)',
    maxLength: 500,
    ...(description !== undefined && { description }),
  });

/** The request that sends one message; all texts in it are templates. */
export const Request = Type.Object(
  {
    method: Type.Enum(['POST', 'GET', 'PUT'], { description: 'The method.', default: 'POST' }),
    path: Type.String({ description: 'The path, appended to that of `baseUrl`.', pattern: '^/', maxLength: 1000 }),
    query: Type.Record(Type.String(), Template(), { description: 'The parameters of the query.', default: {} }),
    headers: Type.Record(Type.String(), Template(), {
      description: 'Headers in addition to those of the content and of `auth`.',
      default: {},
    }),
    auth: Type.Enum(['none', 'basic', 'bearer', 'aws'], {
      description:
        '`basic`: `username` and the API key; `bearer`: the API key; `aws`: Signature Version 4, with `username` as the access key id and the API key as its secret. Use a header for any other method.',
      default: 'none',
    }),
    username: Type.String({
      description: 'The user name of `basic`, or the access key id of `aws`.',
      maxLength: 2000,
      default: '',
    }),
    format: Type.Enum(['json', 'form', 'none'], { description: 'Format of `body`.', default: 'json' }),
    body: Type.Optional(Type.Unknown({ description: 'JSON, or the fields of a form.' })),
    gsm: Type.String({ description: 'Value of `{{encoding}}` for a text in GSM 03.38.', default: 'GSM' }),
    ucs2: Type.String({ description: 'Value of `{{encoding}}` for any other text.', default: 'UCS2' }),
    maxValiditySeconds: Type.Optional(
      Type.Integer({
        description: 'Maximum validity that the carrier accepts; a longer one is reduced to it.',
        minimum: 1,
      }),
    ),
    idempotent: Type.Boolean({
      description:
        'The carrier recognises a repeat by the `{{messageId}}` in it and takes it once. Only then is a message without a response sent again.',
      default: false,
    }),
  },
  {
    description:
      'The request that sends a message. The carrier gets the whole text and divides it into parts itself. All texts are templates.',
    additionalProperties: false,
  },
);
export type Request = Static<typeof Request>;

/** Meanings of a response for the message. */
export const OUTCOMES = ['accepted', 'refused', 'throttled', 'later', 'unavailable', 'fault', 'unknown'] as const;

/** Meaning of one kind of response. */
export const Rule = Type.Object(
  {
    status: Type.Optional(
      Type.String({
        description: 'The HTTP status: `429`, or `4xx` for the whole class.',
        pattern: '^[1-5](\\d\\d|xx)$',
      }),
    ),
    at: Type.Optional(Place('Place of the value; `code` of the response by default.')),
    is: Type.Optional(
      Type.Array(Type.String({ maxLength: 200 }), {
        description: 'The values; `*` is any non-empty one. If omitted, only the status counts.',
        minItems: 1,
      }),
    ),
    outcome: Type.Enum([...OUTCOMES], {
      description:
        '`throttled`: too fast, the rate is lowered; `later`: this message is tried again, up to the limit of attempts; `unavailable`: the carrier takes nothing for now; `fault`: nothing is taken until the operator acts; `unknown`: it may have been taken.',
    }),
    as: Type.Enum(['REJECTED', 'UNDELIVERABLE', 'EXPIRED'], {
      description: 'The status of a rejected message.',
      default: 'REJECTED',
    }),
    elsewhere: Type.Boolean({
      description: 'The reason lies with this carrier, so that another one may take the message.',
      default: false,
    }),
  },
  { additionalProperties: false },
);
export type Rule = Static<typeof Rule>;

/** Rules for reading the response to a message. */
export const Answer = Type.Object(
  {
    id: Type.Optional(Place("Place of the carrier's id of the message; without it, the message has ours.")),
    code: Type.Optional(Place('Place of the error code.')),
    text: Type.Optional(Place('Place of the error text.')),
    rules: Type.Array(Rule, {
      description: 'Meanings of responses; the first rule that fits applies, then the meaning of the HTTP status.',
      default: [],
      maxItems: 100,
    }),
  },
  {
    description:
      'Rules for reading the response to a message. A place is a JSON pointer, `header:name`, or `text:before*after`.',
    additionalProperties: false,
  },
);
export type Answer = Static<typeof Answer>;

const When = Type.Object(
  { at: Place(), is: Type.Array(Type.String({ maxLength: 200 }), { minItems: 1 }) },
  {
    description: 'Only events with one of these values at this place; `*` is any non-empty one.',
    additionalProperties: false,
  },
);

const STATES = [
  'ACCEPTED',
  'DELIVERED',
  'EXPIRED',
  'DELETED',
  'UNDELIVERABLE',
  'REJECTED',
  'UNKNOWN',
] as const satisfies readonly ReceiptState[];

const list = Type.Optional(
  Type.String({
    description: 'JSON pointer to the list of events in the body, whose places are then relative to each of them.',
    pattern: '^(/.*)?$',
  }),
);

/** Locations of receipts in a callback. */
export const Receipts = Type.Object(
  {
    list,
    when: Type.Optional(When),
    ids: Type.Array(Place(), {
      description: 'Places of the ids of the message: that of the response, and ours (`{{messageId}}`) if present.',
      minItems: 1,
      maxItems: 5,
    }),
    state: Place('Place of the state; of several places, the first whose text is in `states` counts.'),
    states: Type.Record(Type.String(), Type.Enum([...STATES]), {
      description: 'Meanings of the states, ignoring case; others change nothing.',
    }),
    code: Type.Optional(Place('Place of the error code.')),
    at: Type.Optional(Place('Place of the time: ISO 8601, or seconds or milliseconds since 1970.')),
    to: Type.Optional(Place("Place of the recipient's number.")),
    from: Type.Optional(Place('Place of the sender.')),
  },
  { description: 'Places of receipts in a callback.', additionalProperties: false },
);
export type Receipts = Static<typeof Receipts>;

/** Locations of inbound messages in a callback. */
export const Inbound = Type.Object(
  {
    list,
    when: Type.Optional(When),
    id: Type.Optional(Place('Place of their id: the same id twice is the same message.')),
    from: Place("Place of the person's number."),
    to: Place('Place of our number.'),
    text: Place('Place of the text.'),
    at: Type.Optional(Place('Place of the time.')),
    ref: Type.Optional(Place('Place of the reference of a long message that comes in parts.')),
    total: Type.Optional(Place('Place of the number of parts.')),
    part: Type.Optional(Place('Place of the part number, from 1.')),
  },
  { description: 'Places of inbound messages in a callback.', additionalProperties: false },
);
export type Inbound = Static<typeof Inbound>;

/** Proof that a callback comes from the carrier. */
export const Verify = Type.Object(
  {
    by: Type.Enum(['query', 'header', 'basic', 'signature'], {
      description:
        '`query`, `header`, `basic`: the callback token, in a parameter or header named `name` or as the password; `signature`: a signature in the header `name`.',
      default: 'query',
    }),
    name: Type.String({
      description:
        'The name of the parameter or header. Of several headers, separated by a vertical bar, the first one present counts.',
      pattern: '^[A-Za-z0-9_ |-]{1,200}$',
      default: 'token',
    }),
    algorithm: Type.Enum(['hmac-sha1', 'hmac-sha256', 'hmac-sha512', 'ed25519'], {
      description: 'Signature algorithm.',
      default: 'hmac-sha256',
    }),
    encoding: Type.Enum(['hex', 'base64'], { description: 'Encoding of the signature.', default: 'hex' }),
    over: Type.String({
      description:
        'Signed text: `{{body}}`, `{{url}}`, `{{path}}` (the URL without its query), `{{params}}` (names and values of a form, sorted; any other body is rejected), `{{bodySha256}}` (in hex), `{{bodyHash}}` (its bytes), `{{header:name}}`.',
      maxLength: 500,
      default: '{{body}}',
    }),
    anyPort: Type.Boolean({
      description:
        'The carrier may sign `{{url}}` with the standard port or without any: both are accepted, in addition to the URL as configured.',
      default: false,
    }),
    prefix: Type.String({ description: 'Text before the signature.', maxLength: 50, default: '' }),
    separator: Type.String({
      description: 'Separator of several signatures, one of which must match.',
      maxLength: 5,
      default: '',
    }),
    key: Type.Enum(['signingKey', 'apiKey'], { description: 'The secret that signs.', default: 'signingKey' }),
    keyEncoding: Type.Enum(['text', 'base64'], {
      description: '`base64`: also after `whsec_`, as in Standard Webhooks.',
      default: 'text',
    }),
    timestamp: Type.Optional(Place('Place of the time of the signature, in seconds or milliseconds since 1970.')),
    confirm: Type.Optional(Place('Place of a URL that must be opened once to subscribe; it is written to the log.')),
    maxAgeSeconds: Type.Integer({
      description: 'Maximum age of a signature with a time.',
      minimum: 1,
      maximum: 86_400,
      default: 600,
    }),
  },
  {
    description: 'Proof that callbacks come from the carrier; a parameter `token` by default.',
    additionalProperties: false,
  },
);
export type Verify = Static<typeof Verify>;

/** Requests that fetch receipts and inbound messages from carriers without callbacks. */
export const Poll = Type.Object(
  {
    path: Type.String({
      description:
        'The path that is fetched with GET and the credentials; a template with `{{account}}`, `{{apiKey}}` and `{{cursor}}`.',
      pattern: '^/',
      maxLength: 1000,
    }),
    cursor: Place(
      'Place of the cursor for the next request in the response. It is kept once everything in the response is stored.',
    ),
    start: Type.String({ description: '`{{cursor}}` of the first request.', maxLength: 200, default: '' }),
    confirm: Type.Optional(
      Type.String({
        description:
          'A path that is called with DELETE when everything up to `{{cursor}}` is stored, for carriers that keep events until then.',
        pattern: '^/',
        maxLength: 1000,
      }),
    ),
    intervalSeconds: Type.Integer({
      description:
        'Pause after a response without events; after one with events, the next request follows immediately.',
      minimum: 1,
      maximum: 86_400,
      default: 30,
    }),
  },
  {
    description:
      'Requests that fetch receipts and inbound messages from a carrier without callbacks; they are read like callbacks, by `receipts` and `inbound`. One worker fetches at a time.',
    additionalProperties: false,
  },
);
export type Poll = Static<typeof Poll>;

/** Formats of the carrier's requests to our callback URL. */
export type Callbacks = {
  readonly receipts?: Receipts | undefined;
  readonly inbound?: Inbound | undefined;
  readonly verify?: Verify | undefined;
};

const NEEDS = ['baseUrl', 'account', 'apiKey', 'signingKey'] as const;

const PROPERTIES = {
  baseUrl: Type.Optional(Type.String()),
  /** Settings that a connection must give in addition. */
  needs: Type.Array(Type.Enum([...NEEDS])),
  probePath: Type.Optional(Type.String()),
  request: Request,
  answer: Answer,
  receipts: Receipts,
  inbound: Inbound,
  verify: Verify,
} satisfies TProperties;

const Preset = Type.Object(PROPERTIES, { additionalProperties: false });

/** The protocol of a well-known carrier, with all defaults. */
export type Preset = Static<typeof Preset>;

/** Validates the protocol of a well-known carrier and fills in the defaults. */
export const definePreset = (protocol: unknown): Preset => parseSettings(Preset, protocol);

/** The variables of a message and of its connection, as templates of a request name them. */
export const VARIABLES = {
  to: 'The number in E.164, with its plus sign.',
  toDigits: 'The number without its plus sign.',
  from: 'The sender; a number of at least 7 digits has a plus sign. It has no value when the carrier is to choose.',
  fromPlain: 'The sender as it is written, without a plus sign.',
  text: 'The text.',
  parts: 'How many messages the text is over the air, as a number.',
  encoding: 'The alphabet that the text needs, by the names in `gsm` and `ucs2`.',
  messageId: 'Our id of the message, a UUID.',
  'dlt.entityId': 'The parameter 0x1400 of the message, the entity id of DLT in India; no value without it.',
  'dlt.templateId': 'The parameter 0x1401, the template id of DLT.',
  'dlt.chain': 'The parameter 0x1402, the chain of telemarketers of DLT.',
  callbackUrl: 'The URL for callbacks, with the callback token if it is verified by that.',
  wantReceipt: 'Whether a receipt is wanted: true or false.',
  validitySeconds: 'For how many seconds the message is valid; no value without a limit.',
  validityMs: 'The same in milliseconds.',
  validityMinutes: 'The same in minutes, rounded up.',
  validUntil: 'Until when the message is valid, in ISO 8601.',
  account: 'The setting `account`.',
  apiKey: 'The API key.',
  signingKey: 'The key that signs callbacks.',
  callbackToken: 'The callback token.',
} as const;

export type Variable = keyof typeof VARIABLES;

/** Headers that the HTTP client writes itself. */
const OWN_HEADERS: readonly string[] = [
  'host',
  'connection',
  'content-length',
  'transfer-encoding',
  'keep-alive',
  'upgrade',
  'expect',
  'te',
  'trailer',
];

const SIGNED = /^(body|url|path|params|bodySha256|bodyHash|header:[A-Za-z0-9-]+)$/;

/** Throws an Error that begins with the field if the templates of a protocol cannot work. */
export function checkTemplates({
  request,
  verify,
  probePath,
}: {
  readonly request: Request;
  readonly verify?: Verify | undefined;
  readonly probePath?: string | undefined;
}): void {
  const { path, query, headers, username, body, format, method, auth, idempotent } = request;
  for (const [field, template] of Object.entries({ path, query, headers, username, body }))
    checkVariables(`request.${field}`, template, (name) => Object.hasOwn(VARIABLES, name) || isTlvVariable(name));
  checkVariables('verify.over', verify?.over, (name) => SIGNED.test(name));
  checkVariables('probePath', probePath, isOfConnection);
  checkPath('request.path', path);
  checkPath('probePath', probePath);
  Object.entries(headers).forEach(checkHeader);
  if (format === 'form' && !isFields(body)) throw new Error('request.body: must have the fields of a form, as texts');
  if (method === 'GET' && format !== 'none') throw new Error('request.format: must be none with GET');
  if (auth === 'aws' && Object.keys(query).length > 0) throw new Error('request.query: must be empty with aws');
  if (idempotent && !variablesIn([path, query, headers, body]).includes('messageId'))
    throw new Error('request.idempotent: needs {{messageId}} in the request, by which the carrier knows a repeat');
}

/** Returns true if a variable has the same value in all requests of a connection. */
export const isOfConnection = (name: string): boolean => CONNECTION_VARIABLES.includes(name);
const CONNECTION_VARIABLES: readonly string[] = ['account', 'apiKey', 'signingKey', 'callbackToken', 'callbackUrl'];

/** The variables of requests that fetch events. */
const POLL_VARIABLES: readonly string[] = ['account', 'apiKey', 'cursor'];

/** Throws an Error that begins with the field if events could not be fetched, or could be counted twice. */
export function checkPoll({
  request,
  poll,
  receipts,
  inbound,
}: Pick<Callbacks, 'receipts' | 'inbound'> & {
  readonly request: Request;
  readonly poll?: Poll | undefined;
}): void {
  if (!poll) return;
  for (const [field, template] of Object.entries({ path: poll.path, confirm: poll.confirm }))
    checkVariables(`poll.${field}`, template, (name) => POLL_VARIABLES.includes(name));
  for (const [field, template] of Object.entries({ path: poll.path, confirm: poll.confirm }))
    checkPath(`poll.${field}`, template);
  if (!variablesIn(poll.path).includes('cursor'))
    throw new Error('poll.path: needs {{cursor}}, or all would be fetched again');
  if (!receipts && !inbound) throw new Error('poll: needs receipts or inbound, which define how events are read');
  if (inbound && inbound.id === undefined)
    throw new Error('inbound.id: is required with poll, because a message may be fetched twice');
  if (request.auth === 'aws') throw new Error('poll: is not possible with aws');
}

function checkVariables(field: string, template: unknown, isKnown: (name: string) => boolean): void {
  const unknown = variablesIn(template).find((name) => !isKnown(name));
  if (unknown !== undefined) throw new Error(`${field}: has no variable {{${unknown}}}`);
}

/** A header name as RFC 9110 allows it. */
const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/;

/** Returns the fixed text between the variables of a template. */
const fixedTextIn = (template: string): string =>
  splitPlaceholders(template, { defaults: false })
    .filter((part) => typeof part === 'string')
    .join('');

/** Characters that a request line can have, except a fragment: anything else would never be sent. */
const IN_PATH = /^[\x21\x22\x24-\x7e]*$/;

function checkPath(field: string, template: string | undefined): void {
  if (template !== undefined && !IN_PATH.test(fixedTextIn(template)))
    throw new Error(`${field}: has characters that must be percent-encoded`);
}

/** Characters that a header may contain (RFC 9110, section 5.5): no line breaks, which would begin another header. */
export const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

function checkHeader([name, template]: [string, string]): void {
  if (!HEADER_VALUE.test(fixedTextIn(template)))
    throw new Error(`request.headers: ${name} has characters that no header can have`);
  if (!HEADER_NAME.test(name)) throw new Error(`request.headers: ${name} is not the name of a header`);
  if (OWN_HEADERS.includes(name.toLowerCase())) throw new Error(`request.headers: ${name} cannot be set`);
}

/** Returns true if a body has the fields of a form: texts, or lists of texts. */
export function isFields(body: unknown): body is Record<string, string | string[]> {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return false;
  return Object.values(body).every((value) => [value].flat().every((one) => typeof one === 'string'));
}
