import type { Callbacks, Poll, Request, Verify } from './protocol.ts';
import { splitPlaceholders } from '../../platform/lib/placeholders.ts';
import { variablesIn } from './template.ts';

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
    checkVariables(`request.${field}`, template, (name) => Object.hasOwn(VARIABLES, name));
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
