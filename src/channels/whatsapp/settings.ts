import Type, { type Static } from 'typebox';
import { parseBaseUrl } from '../http-client.ts';
import { parseSettings, throttlePause } from '../settings.ts';

/** Meta's ids are numbers, written as strings. */
const id = (description?: string) =>
  Type.String({ pattern: '^[0-9]{1,32}$', ...(description !== undefined && { description }) });
const seconds = (description: string, fallback: number) =>
  Type.Number({ description, minimum: 0.05, maximum: 600, default: fallback });

/** Settings of one WhatsApp business account. */
export const WhatsappSettings = Type.Object(
  {
    baseUrl: Type.String({
      description: 'Origin of the Graph API, without a path; plain HTTP only to this machine.',
      maxLength: 300,
      default: 'https://graph.facebook.com',
    }),
    apiVersion: Type.String({
      // The newest on developers.facebook.com/docs/graph-api/changelog in November 2026, since 29 July 2026.
      description: 'Version of the API, a part of each path. Meta keeps each for about two years.',
      pattern: '^v[0-9]{1,3}\\.[0-9]$',
      default: 'v26.0',
    }),
    wabaId: id('Id of the business account.'),
    appId: Type.Optional(id('Id of the app that uploads sample files for templates; only needed for that.')),
    phoneNumberIds: Type.Array(id(), {
      description: 'Ids of the phone numbers that this connection sends from; callbacks about others are ignored.',
      minItems: 1,
      maxItems: 100,
      uniqueItems: true,
    }),
    concurrency: Type.Integer({
      description: 'Maximum unanswered messages, over all numbers.',
      minimum: 1,
      maximum: 2000,
      default: 50,
    }),
    tps: Type.Number({ description: 'Messages per second and number; 0 means no limit.', minimum: 0, default: 80 }),
    submitTimeoutSeconds: seconds('Time without a response after which the outcome of a message is "unknown".', 30),
    connectTimeoutSeconds: seconds('Time after which a connection attempt is abandoned and tried again.', 10),
    marketingApi: Type.Boolean({
      // developers.facebook.com/documentation/business-messaging/whatsapp/marketing-messages: by account, after its
      // onboarding; only for templates of the category MARKETING, which have the time to live.
      description:
        "Send templates of the category MARKETING over Meta's Marketing Messages API, for which the account must be onboarded.",
      default: false,
    }),
    throttlePauseMs: throttlePause('of a number when the network throttles it'),
    mediaHosts: Type.Array(Type.String({ minLength: 1, maxLength: 260 }), {
      description:
        'Hosts in addition to that of `baseUrl` from which files may be fetched; no other host receives the access token.',
      default: ['lookaside.fbsbx.com'],
    }),
  },
  { additionalProperties: false },
);
/** The settings of a WhatsApp connection. */
export type WhatsappSettings = Static<typeof WhatsappSettings>;

const Secret = Type.String({ minLength: 1, maxLength: 1000, pattern: '^[\\x21-\\x7e]+$' });

/**
 * `appSecret` signs the callbacks; `verifyToken` is chosen by us and proves to the network that a callback URL is ours.
 */
export const WhatsappSecrets = Type.Object(
  { accessToken: Secret, appSecret: Secret, verifyToken: Secret },
  { additionalProperties: false },
);
/** The secrets of a WhatsApp connection. */
export type WhatsappSecrets = Static<typeof WhatsappSecrets>;

/**
 * Validates stored or posted settings and fills in the defaults. Throws an Error whose message names the invalid
 * fields.
 */
export function parseWhatsappSettings(json: unknown): WhatsappSettings {
  const settings = parseSettings(WhatsappSettings, json);
  parseBaseUrl('baseUrl', settings.baseUrl);
  return settings;
}

/** Validates the secrets. Throws an Error whose message names the invalid fields and never repeats a value. */
export const parseWhatsappSecrets = (json: unknown): WhatsappSecrets => parseSettings(WhatsappSecrets, json);
