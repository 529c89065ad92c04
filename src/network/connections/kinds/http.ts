import { compileCallbacks } from '../../../carriers/http-sms/callbacks.ts';
import { createHttpSmsCarrier, type HttpSmsContext } from '../../../carriers/http-sms/carrier.ts';
import { showExchange } from '../../../carriers/http-sms/exchange.ts';
import { createPoller } from '../../../carriers/http-sms/poll.ts';
import type { Verify } from '../../../carriers/http-sms/protocol.ts';
import {
  checkSecrets,
  type HttpSmsSecrets,
  HttpSmsSettings,
  parseHttpSmsSecrets,
  parseHttpSmsSettings,
  resolveSettings,
} from '../../../carriers/http-sms/settings.ts';
import { getMember } from '../../../carriers/json.ts';
import { guardedLookup } from '../../../platform/outbound/connect.ts';
import type { CallbackAnswer, CallbackRequest } from './callback.ts';
import { addressOfUrl } from './address.ts';
import type { CarrierContext, Kind } from './kind.ts';
import { jsonSecret } from './secret.ts';
import { settingFields } from './setting-fields.ts';

const SECRET = jsonSecret(
  [
    {
      name: 'apiKey',
      description: 'The key, token or password of the API.',
      type: 'text',
      generated: false,
      optional: true,
    },
    {
      name: 'signingKey',
      description: 'The key with which the carrier signs its callbacks, where it has a separate one.',
      type: 'text',
      generated: false,
      optional: true,
    },
    {
      name: 'callbackToken',
      description: 'The token that proves that a callback comes from the carrier, where callbacks are not signed.',
      type: 'text',
      generated: true,
    },
  ],
  parseHttpSmsSecrets,
);

/** SMS over HTTP, as described by settings or a preset. */
export const httpKind: Kind = {
  title: 'HTTP',
  leadsTo: 'an SMS carrier over HTTP',
  channel: 'SMS',
  settings: settingFields(HttpSmsSettings, { access: ['preset', 'baseUrl', 'account'], main: ['tps', 'concurrency'] }),
  secret: SECRET,
  checkSecret: (settings, secret) => checkSecrets(parseHttpSmsSettings(settings), secretsOf(secret)),
  isGuarded: true,
  parseSettings: parseHttpSmsSettings,
  createCarrier: (settings, secret, context) =>
    createHttpSmsCarrier(parseHttpSmsSettings(settings), secretsOf(secret), contextOf(settings, secret, context)),
  tpsOf: (settings) => parseHttpSmsSettings(settings).tps,
  forTest: (settings) => settings,
  addressOf: (settings) => addressOfUrl(resolveSettings(parseHttpSmsSettings(settings)).baseUrl),
  limitsOf(settings) {
    const { concurrency, tps } = parseHttpSmsSettings(settings);
    return { window: concurrency, perSecond: tps };
  },
  senderIdsOf: () => [],
  showExchange: (settings, secret, context) =>
    showExchange(parseHttpSmsSettings(settings), secretsOf(secret), contextOf(settings, secret, context)),
  setup: null,
  callbacks: {
    verification: {
      summary: 'Receive statuses and messages of SMS carriers that call with GET',
      description: 'The fields are in the query. 401 without the token of the connection or its signature.',
    },
    signatureHeader: null,
    // Carriers report up to some hundred messages at a time.
    maxBodyBytes: 512 * 1024,
    maxUnsignedBytes: 512 * 1024,
    createReader(settings, secret) {
      const read = compileCallbacks(resolveSettings(parseHttpSmsSettings(settings)), secretsOf(secret));
      return (request) => eventsOf(read, request);
    },
  },
  polls: (settings) => getMember(settings, 'poll') !== undefined,
  createPoller: (settings, secret, context) =>
    createPoller(parseHttpSmsSettings(settings), secretsOf(secret), contextOf(settings, secret, context)),
  createFileSource: null,
  createTemplateClient: null,
};

const secretsOf = (secret: string): HttpSmsSecrets => parseHttpSmsSecrets(JSON.parse(secret));

/**
 * Completes the context. The carrier's URL for callbacks has the token where callbacks are verified by a parameter or
 * as the password.
 */
function contextOf(settings: unknown, secret: string, { callbackUrl, guard }: CarrierContext): HttpSmsContext {
  const { verify } = resolveSettings(parseHttpSmsSettings(settings));
  const { callbackToken } = secretsOf(secret);
  return {
    callbackUrl: callbackUrl === null ? null : withToken(callbackUrl, verify, callbackToken),
    lookup: guardedLookup(guard),
    isAllowed: guard.isAllowed,
  };
}

function withToken(callbackUrl: string, verify: Verify | undefined, token: string): string {
  const url = new URL(callbackUrl);
  const { by, name } = verify ?? { by: 'query', name: 'token' };
  if (by === 'query') url.searchParams.set(name, token);
  if (by === 'basic') [url.username, url.password] = ['carrier', token];
  return url.href;
}

function eventsOf(read: ReturnType<typeof compileCallbacks>, request: CallbackRequest): CallbackAnswer {
  const found = read(request);
  return found.kind === 'events' ? { ...found, subscriptions: [], templates: [], notices: [] } : found;
}
