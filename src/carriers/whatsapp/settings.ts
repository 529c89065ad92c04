import Type, { type Static } from 'typebox';
import { parseBase } from '../http/base-url.ts';
import { parseSettings } from '../parse-settings.ts';

/** Ids of Meta are numbers in the form of texts. */
const Id = Type.String({ pattern: '^[0-9]{1,32}$' });
const seconds = (fallback: number) => Type.Number({ minimum: 0.05, maximum: 600, default: fallback });

/** How one WhatsApp business account is reached (protocol sheet whatsapp). */
export const WhatsappSettings = Type.Object(
  {
    /** HTTPS; plain HTTP only to this machine, for a sandbox. */
    baseUrl: Type.String({ maxLength: 300, default: 'https://graph.facebook.com' }),
    apiVersion: Type.String({ pattern: '^v[0-9]{1,3}\\.[0-9]$', default: 'v23.0' }),
    wabaId: Id,
    /** The app that samples of templates with files go by; needed for nothing else. */
    appId: Type.Optional(Id),
    /** The numbers of ours that this connection sends from. */
    phoneNumberIds: Type.Array(Id, { minItems: 1, maxItems: 100, uniqueItems: true }),
    /** Messages without an answer at a time, over all numbers. */
    concurrency: Type.Integer({ minimum: 1, maximum: 2000, default: 50 }),
    /** Messages a second of each number; 0 is without a limit. */
    tps: Type.Number({ minimum: 0, default: 80 }),
    submitTimeoutSeconds: seconds(30),
    connectTimeoutSeconds: seconds(10),
    /** First pause of a number after "too fast"; it doubles up to 30 s. */
    throttlePauseMs: Type.Integer({ minimum: 1, maximum: 30_000, default: 1000 }),
    /** Hosts, beside that of `baseUrl`, that files may be fetched from: the access token is shown to no other. */
    mediaHosts: Type.Array(Type.String({ minLength: 1, maxLength: 260 }), { default: ['lookaside.fbsbx.com'] }),
  },
  { additionalProperties: false },
);
export type WhatsappSettings = Static<typeof WhatsappSettings>;

const Secret = Type.String({ minLength: 1, maxLength: 1000, pattern: '^[\\x21-\\x7e]+$' });

/** `appSecret` signs the callbacks, `verifyToken` is ours and answers the question whose a callback address is. */
export const WhatsappSecrets = Type.Object(
  { accessToken: Secret, appSecret: Secret, verifyToken: Secret },
  { additionalProperties: false },
);
export type WhatsappSecrets = Static<typeof WhatsappSecrets>;

/** Fills in the defaults. Throws an Error whose message names the field at fault. */
export function parseWhatsappSettings(json: unknown): WhatsappSettings {
  const settings = parseSettings(WhatsappSettings, json);
  parseBase('baseUrl', settings.baseUrl);
  return settings;
}

/** The same for the secrets. No message repeats a value. */
export const parseWhatsappSecrets = (json: unknown): WhatsappSecrets => parseSettings(WhatsappSecrets, json);
