import Type, { type Static } from 'typebox';
import type { ReceiptState } from '../events.ts';

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
