import Type, { type Static } from 'typebox';
import { TRAFFIC_TYPES } from '../carrier.ts';
import { parseBaseUrl } from '../http-client.ts';
import { getMember, parseSettings, throttlePause } from '../settings.ts';

const seconds = (description: string, fallback: number, maximum = 3600) =>
  Type.Number({ description, minimum: 0.05, maximum, default: fallback });

/** The longest lifetime of a message that the network accepts, in seconds: 15 days. */
export const MAX_TTL_SECONDS = 1_296_000;

/**
 * The shortest lifetime that is sent. The network has no minimum, but recommends ten seconds: with less, it often
 * reports a message both as delivered and as revoked (guide "Send messages", set a message expiration).
 */
export const MIN_TTL_SECONDS = 10;

/** Settings of one Google RBM partner account. */
export const RcsSettings = Type.Object(
  {
    baseUrl: Type.String({
      description:
        'Origin of the RBM API: the regional endpoint must be that of the region in which the agents are hosted.',
      default: 'https://rcsbusinessmessaging.googleapis.com',
    }),
    concurrency: Type.Integer({
      description: 'Maximum concurrent requests and connections.',
      minimum: 1,
      maximum: 1000,
      default: 50,
    }),
    // Enforced by the dispatcher, not by the carrier.
    tps: Type.Number({
      description: 'Messages per second over all workers; 0 means no limit.',
      minimum: 0,
      default: 0,
    }),
    trafficType: Type.Optional(
      Type.Enum([...TRAFFIC_TYPES], {
        description:
          'The purpose of messages that do not state their own: agents with several uses need one. By default, the use of ' +
          'the agent applies.',
      }),
    ),
    defaultTtlSeconds: Type.Integer({
      description:
        'Lifetime of a message without its own validity: without one, it would end unreported after 30 days.',
      minimum: MIN_TTL_SECONDS,
      maximum: MAX_TTL_SECONDS,
      default: MAX_TTL_SECONDS,
    }),

    requestTimeoutSeconds: seconds(
      'Time without a response after which a request is sent again under the same id, which the network accepts only once.',
      20,
    ),
    connectTimeoutSeconds: seconds('Time after which a connection attempt is abandoned and tried again.', 10),
    resends: Type.Integer({
      description: 'Number of times that an unanswered message is sent again before its outcome is "unknown".',
      minimum: 0,
      maximum: 10,
      default: 2,
    }),
    throttlePauseMs: throttlePause('of an agent when the network throttles it'),
    faultPauseSeconds: seconds('Pause after the service account was rejected, before the next attempt.', 30),

    reachableCacheSeconds: seconds('Time for which a number is cached as reachable by RCS.', 86_400, 2_592_000),
    unreachableCacheSeconds: seconds('Time for which a number is cached as unreachable.', 21_600, 2_592_000),
    batchMinimum: Type.Integer({
      description: 'Minimum numbers in a batch check; fewer are checked one by one.',
      minimum: 1,
      maximum: 10_000,
      default: 500,
    }),
    capabilityConcurrency: Type.Integer({
      description: 'Maximum concurrent checks of numbers, in addition to the messages.',
      minimum: 1,
      maximum: 100,
      default: 10,
    }),
  },
  { additionalProperties: false },
);

export type RcsSettings = Static<typeof RcsSettings>;

/** A service account of the partner, and the token that signs its callbacks. */
export const RcsSecrets = Type.Object(
  {
    clientEmail: Type.String({ minLength: 3, maxLength: 320 }),
    /** An RSA key in PEM. */
    privateKey: Type.String({ minLength: 1, maxLength: 20_000 }),
    privateKeyId: Type.String({ maxLength: 200, default: '' }),
    tokenUri: Type.String({ default: 'https://oauth2.googleapis.com/token' }),
    clientToken: Type.String({ minLength: 8, maxLength: 1000 }),
  },
  { additionalProperties: false },
);

export type RcsSecrets = Static<typeof RcsSecrets>;

/**
 * Validates stored or posted settings and fills in the defaults. Throws an Error whose message names the invalid
 * fields.
 */
export function parseRcsSettings(json: unknown): RcsSettings {
  const settings = parseSettings(RcsSettings, json);
  parseBaseUrl('baseUrl', settings.baseUrl);
  return settings;
}

/**
 * Validates the secrets and fills in the defaults. Also accepts Google's key file of a service account with
 * `clientToken` added to it. Throws an Error whose message names the invalid fields.
 */
export function parseRcsSecrets(json: unknown): RcsSecrets {
  const secrets = parseSettings(RcsSecrets, getMember(json, 'client_email') === undefined ? json : fromKeyFile(json));
  parseBaseUrl('tokenUri', secrets.tokenUri);
  return secrets;
}

function fromKeyFile(json: unknown): object {
  const tokenUri = getMember(json, 'token_uri');
  return {
    clientEmail: getMember(json, 'client_email'),
    privateKey: getMember(json, 'private_key'),
    privateKeyId: getMember(json, 'private_key_id') ?? '',
    clientToken: getMember(json, 'clientToken'),
    ...(tokenUri !== undefined && { tokenUri }),
  };
}

/** Returns the id of an RCS agent without `@rbm.goog`, which the network sometimes appends: this form is stored. */
export const bareAgentId = (id: string): string => id.replace(/@rbm\.goog$/, '');
