import Type, { type Static } from 'typebox';
import { parseBase } from '../http/base-url.ts';
import { memberOf } from '../json.ts';
import { parseSettings } from '../parse-settings.ts';

const seconds = (fallback: number, maximum = 3600) => Type.Number({ minimum: 0.05, maximum, default: fallback });

/** The longest life of a message that the network accepts, in seconds: 15 days. */
export const LONGEST_TTL_SECONDS = 1_296_000;

/** How one Google RBM partner account wants to be spoken to (protocol sheet rcs). */
export const RcsSettings = Type.Object(
  {
    /** The regional host must be that of the agents' hosting region. */
    baseUrl: Type.String({ default: 'https://rcsbusinessmessaging.googleapis.com' }),
    /** Requests at the same time, and connections. */
    concurrency: Type.Integer({ minimum: 1, maximum: 1000, default: 50 }),
    /** Messages per second; 0 is without a limit. Held by the dispatcher, not by the carrier. */
    tps: Type.Number({ minimum: 0, default: 0 }),
    /** What the messages are for; agents with several uses must say it. Left out, the agent's use decides. */
    trafficType: Type.Optional(
      Type.Enum(['AUTHENTICATION', 'TRANSACTION', 'PROMOTION', 'SERVICEREQUEST', 'ACKNOWLEDGEMENT']),
    ),
    /** The life of a message that has no validity of its own: without one, it would end unreported after 30 days. */
    defaultTtlSeconds: Type.Integer({ minimum: 10, maximum: LONGEST_TTL_SECONDS, default: LONGEST_TTL_SECONDS }),

    requestTimeoutSeconds: seconds(20),
    connectTimeoutSeconds: seconds(10),
    /** How often a message without an answer is sent again under its id, which the network takes once only. */
    resends: Type.Integer({ minimum: 0, maximum: 10, default: 2 }),
    throttlePauseMs: Type.Integer({ minimum: 1, maximum: 30_000, default: 1000 }),
    /** Rest of the carrier when its service account was refused; then it tries again. */
    faultPauseSeconds: seconds(30),

    /** How long the network's word on a number counts. */
    reachableCacheSeconds: seconds(86_400, 2_592_000),
    unreachableCacheSeconds: seconds(21_600, 2_592_000),
    /** Fewest numbers that the network takes in one batch check; fewer are asked for one by one. */
    batchMinimum: Type.Integer({ minimum: 1, maximum: 10_000, default: 500 }),
    /** Checks at the same time, beside the messages. */
    capabilityConcurrency: Type.Integer({ minimum: 1, maximum: 100, default: 10 }),
  },
  { additionalProperties: false },
);

export type RcsSettings = Static<typeof RcsSettings>;

/** A service account of the partner, and the token that its callbacks are signed with. */
export const RcsSecrets = Type.Object(
  {
    clientEmail: Type.String({ minLength: 3, maxLength: 320 }),
    /** PEM. */
    privateKey: Type.String({ minLength: 1, maxLength: 20_000 }),
    privateKeyId: Type.String({ maxLength: 200, default: '' }),
    tokenUri: Type.String({ default: 'https://oauth2.googleapis.com/token' }),
    clientToken: Type.String({ minLength: 8, maxLength: 1000 }),
  },
  { additionalProperties: false },
);

export type RcsSecrets = Static<typeof RcsSecrets>;

/**
 * Checks stored or posted settings and fills in the defaults. Throws an Error whose message names the field at fault.
 */
export function parseRcsSettings(json: unknown): RcsSettings {
  const settings = parseSettings(RcsSettings, json);
  parseBase('baseUrl', settings.baseUrl);
  return settings;
}

/**
 * The same for the secrets. Also takes the key file of a service account as Google hands it out, with `clientToken`
 * beside its members.
 */
export function parseRcsSecrets(json: unknown): RcsSecrets {
  const secrets = parseSettings(RcsSecrets, memberOf(json, 'client_email') === undefined ? json : fromKeyFile(json));
  parseBase('tokenUri', secrets.tokenUri);
  return secrets;
}

function fromKeyFile(json: unknown): object {
  const tokenUri = memberOf(json, 'token_uri');
  return {
    clientEmail: memberOf(json, 'client_email'),
    privateKey: memberOf(json, 'private_key'),
    privateKeyId: memberOf(json, 'private_key_id') ?? '',
    clientToken: memberOf(json, 'clientToken'),
    ...(tokenUri !== undefined && { tokenUri }),
  };
}
