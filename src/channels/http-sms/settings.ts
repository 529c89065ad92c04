import Type, { type Static } from 'typebox';
import { parseBaseUrl } from '../http-client.ts';
import { parseSettings, throttlePause } from '../settings.ts';
import { PRESET_NAMES, PRESETS } from './presets/presets.ts';
import {
  Answer,
  type Callbacks,
  checkPoll,
  checkTemplates,
  Inbound,
  Poll,
  type Preset,
  Receipts,
  Request,
  Verify,
} from './protocol.ts';
import { variablesIn } from './template.ts';

const seconds = (description: string, fallback: number) =>
  Type.Number({ description, minimum: 0.05, maximum: 600, default: fallback });

/**
 * Settings of one SMS carrier over HTTP. `request`, `answer`, `receipts`, `inbound`, `verify` and `poll` describe its
 * protocol; a preset has them for a well-known carrier, and each one given here replaces that of the preset.
 */
export const HttpSmsSettings = Type.Object(
  {
    preset: Type.Optional(
      Type.Enum([...PRESET_NAMES], { description: 'A well-known carrier, whose protocol is then preset.' }),
    ),
    baseUrl: Type.Optional(
      Type.String({
        description:
          'Address of the API, including a common path prefix; plain HTTP only to this machine. A preset has one if its carrier has one for all customers.',
        maxLength: 300,
      }),
    ),
    account: Type.Optional(
      Type.String({
        description:
          'The account at the carrier, `{{account}}` in templates: account SID (Twilio), API key (Vonage), Auth ID (Plivo), service plan id (Sinch).',
        pattern: '^[\\x21-\\x7e]{1,200}$',
      }),
    ),
    tps: Type.Number({
      description: 'Parts per second over all workers; 0 means no limit.',
      minimum: 0,
      default: 0,
    }),
    concurrency: Type.Integer({
      description: 'Maximum unanswered messages and connections, per worker.',
      minimum: 1,
      maximum: 1000,
      default: 50,
    }),
    request: Type.Optional(Request),
    answer: Type.Optional(Answer),
    receipts: Type.Optional(Receipts),
    inbound: Type.Optional(Inbound),
    verify: Type.Optional(Verify),
    poll: Type.Optional(Poll),
    probePath: Type.Optional(
      Type.String({
        description:
          'Path that is fetched with the credentials to check that the carrier is reachable and accepts them; without one, only that it responds. It sends nothing.',
        pattern: '^/',
        maxLength: 500,
      }),
    ),
    submitTimeoutSeconds: seconds('Time without a response after which the outcome of a message is "unknown".', 30),
    connectTimeoutSeconds: seconds('Time after which a connection attempt is abandoned and tried again.', 10),
    resends: Type.Integer({
      description:
        'Number of times that a message without a response is sent again before its outcome is "unknown"; only to carriers that recognise a repeat (`idempotent` of `request`).',
      minimum: 0,
      maximum: 10,
      default: 2,
    }),
    throttlePauseMs: throttlePause('when the carrier throttles'),
    faultPauseSeconds: seconds('Pause after the credentials were rejected, before the next attempt.', 30),
  },
  { additionalProperties: false },
);

export type HttpSmsSettings = Static<typeof HttpSmsSettings>;

export type Resolved = Omit<HttpSmsSettings, 'preset'> & {
  readonly baseUrl: string;
  readonly request: Request;
  readonly answer: Answer;
} & Callbacks;

const Secret = (description: string) =>
  Type.String({ description, maxLength: 4000, pattern: '^[\\x20-\\x7e\\r\\n]*$' });

export const HttpSmsSecrets = Type.Object(
  {
    apiKey: { ...Secret('The key, token or password of the API.'), default: '' },
    signingKey: { ...Secret('The key with which the carrier signs its callbacks.'), default: '' },
    callbackToken: Type.String({ minLength: 8, maxLength: 200, pattern: '^[\\x21-\\x7e]+$' }),
  },
  { additionalProperties: false },
);
export type HttpSmsSecrets = Static<typeof HttpSmsSecrets>;

/**
 * Validates stored or posted settings and fills in the defaults; values of the preset are not filled in, so that a
 * newer preset applies to existing connections. Throws an Error whose message names the invalid fields.
 */
export function parseHttpSmsSettings(json: unknown): HttpSmsSettings {
  const settings = parseSettings(HttpSmsSettings, json);
  resolveSettings(settings);
  return settings;
}

const NO_PRESET: { readonly needs: readonly string[] } & Partial<Omit<Preset, 'needs'>> = { needs: [] };

/** Responses are read by their HTTP status alone. */
const NO_ANSWER: Answer = { rules: [] };

/** Returns the settings, completed from the preset. Throws an Error that begins with the field. */
export function resolveSettings({ preset, ...own }: HttpSmsSettings): Resolved {
  const { needs, ...known } = preset === undefined ? NO_PRESET : PRESETS[preset];
  const all = { ...known, ...own };
  for (const name of ['baseUrl', 'account'] as const)
    if (needs.includes(name) && all[name] === undefined)
      throw new Error(`${name}: is required by the preset ${preset}`);
  const { baseUrl, request, answer = NO_ANSWER } = all;
  if (baseUrl === undefined) throw new Error('baseUrl: is required');
  if (request === undefined) throw new Error('request: is required without a preset');
  parseBaseUrl('baseUrl', baseUrl);
  const resolved = { ...all, baseUrl, request, answer };
  checkTemplates(resolved);
  checkPoll(resolved);
  return resolved;
}

/** Validates the secrets. Throws an Error whose message names the invalid fields and never repeats a value. */
export const parseHttpSmsSecrets = (json: unknown): HttpSmsSecrets => parseSettings(HttpSmsSecrets, json);

/**
 * Throws an Error that begins with the field if the preset, or the check of signed callbacks, needs a secret that is
 * missing.
 */
export function checkSecrets(settings: HttpSmsSettings, secrets: HttpSmsSecrets): void {
  const { preset } = settings;
  const { request, verify } = resolveSettings(settings);
  const needs: readonly string[] = preset === undefined ? [] : PRESETS[preset].needs;
  const used = [
    ...(request.auth === 'none' ? [] : ['apiKey']),
    ...(verify?.by === 'signature' ? [verify.key] : []),
    ...variablesIn([request.path, request.query, request.headers, request.body]),
  ];
  for (const name of ['apiKey', 'signingKey'] as const)
    if (secrets[name] === '' && (needs.includes(name) || used.includes(name))) throw new Error(`${name}: is required`);
  const inHeaders = [...(request.auth === 'bearer' ? ['apiKey'] : []), ...variablesIn(request.headers)];
  for (const name of ['apiKey', 'signingKey'] as const)
    if (inHeaders.includes(name) && /[\r\n]/.test(secrets[name]))
      throw new Error(`${name}: must have no line breaks, because it is sent in a header`);
}

/**
 * Creates a function that replaces each secret in a text by its name, in every form in which a request can have it.
 * Carriers repeat requests in their errors, and errors are shown to accounts.
 */
export function createHider(
  secrets: HttpSmsSecrets,
  { account = '', username }: { readonly account?: string | undefined; readonly username: string },
): (text: string) => string {
  const user = username.replaceAll('{{account}}', account);
  const forms = Object.entries(secrets)
    .filter(([, value]) => value !== '')
    .flatMap(([name, value]) => formsOf(user, value).map((form) => [name, form] as const))
    // A form may contain another one.
    .toSorted(([, a], [, b]) => b.length - a.length);
  const patterns = forms.map(([name, form]) => [patternOf(form), `<${name}>`] as const);
  return (text) => patterns.reduce((shown, [pattern, name]) => shown.replaceAll(pattern, () => name), text);
}

/** Characters below which a secret is hidden only as a word: everywhere else, it would be a part of other words. */
const SHORT = 4;

const patternOf = (form: string): string | RegExp =>
  form.length < SHORT ? new RegExp(`(?<![\\p{L}\\p{N}])${RegExp.escape(form)}(?![\\p{L}\\p{N}])`, 'gu') : form;

/** A secret as texts, queries, forms and URLs write it, and as they write a URL that contains it. */
function formsOf(user: string, value: string): string[] {
  const plain = [value, encodeURIComponent(value), inForm(value), inUserInfo(value)];
  const nested = plain.flatMap((form) => [form, encodeURIComponent(form), inForm(form)]);
  const all = [...nested, ...nested.map((form) => JSON.stringify(form).slice(1, -1))];
  return [...new Set([...all, basic(user, value), basic('', value)])];
}

/** Forms and the parameters of a URL encode more characters than `encodeURIComponent`. */
const inForm = (value: string): string => new URLSearchParams([['', value]]).toString().slice(1);

function inUserInfo(value: string): string {
  const url = new URL('https://localhost');
  url.password = value;
  return url.password;
}

const basic = (username: string, password: string): string => Buffer.from(`${username}:${password}`).toString('base64');
