import Type, { type Static } from 'typebox';
import { parseBaseUrl } from '../http/base-url.ts';
import { parseSettings } from '../parse-settings.ts';

/** Meta's ids are numbers, written as strings. */
const Id = Type.String({ pattern: '^[0-9]{1,32}$' });
const seconds = (fallback: number) => Type.Number({ minimum: 0.05, maximum: 600, default: fallback });

/** How one WhatsApp business account is reached (protocol sheet whatsapp). */
export const WhatsappSettings = Type.Object(
  {
    /** HTTPS; plain HTTP only to this machine, for a sandbox. */
    baseUrl: Type.String({ maxLength: 300, default: 'https://graph.facebook.com' }),
    apiVersion: Type.String({ pattern: '^v[0-9]{1,3}\\.[0-9]$', default: 'v23.0' }),
    wabaId: Id,
    /** The app that uploads sample files for templates; not needed for anything else. */
    appId: Type.Optional(Id),
    /** Our numbers that this connection sends from. */
    phoneNumberIds: Type.Array(Id, { minItems: 1, maxItems: 100, uniqueItems: true }),
    /** Maximum unanswered messages, over all numbers. */
    concurrency: Type.Integer({ minimum: 1, maximum: 2000, default: 50 }),
    /** Messages per second and number; 0 means no limit. */
    tps: Type.Number({ minimum: 0, default: 80 }),
    submitTimeoutSeconds: seconds(30),
    connectTimeoutSeconds: seconds(10),
    /** The first pause of a number when the network throttles it; doubles up to 30 s. */
    throttlePauseMs: Type.Integer({ minimum: 1, maximum: 30_000, default: 1000 }),
    /** Hosts besides that of `baseUrl` that files may be fetched from; no other host receives the access token. */
    mediaHosts: Type.Array(Type.String({ minLength: 1, maxLength: 260 }), { default: ['lookaside.fbsbx.com'] }),
  },
  { additionalProperties: false },
);
/** The settings of a WhatsApp connection. */
export type WhatsappSettings = Static<typeof WhatsappSettings>;

const Secret = Type.String({ minLength: 1, maxLength: 1000, pattern: '^[\\x21-\\x7e]+$' });

/** `appSecret` signs the callbacks; `verifyToken` is our own and proves to the network that a callback URL is ours. */
export const WhatsappSecrets = Type.Object(
  { accessToken: Secret, appSecret: Secret, verifyToken: Secret },
  { additionalProperties: false },
);
/** The secrets of a WhatsApp connection. */
export type WhatsappSecrets = Static<typeof WhatsappSecrets>;

/** Validates stored or posted settings and fills in the defaults. Throws an Error whose message names the invalid fields. */
export function parseWhatsappSettings(json: unknown): WhatsappSettings {
  const settings = parseSettings(WhatsappSettings, json);
  parseBaseUrl('baseUrl', settings.baseUrl);
  return settings;
}

/** Validates the secrets. Throws an Error whose message names the invalid fields and never repeats a value. */
export const parseWhatsappSecrets = (json: unknown): WhatsappSecrets => parseSettings(WhatsappSecrets, json);
