import type { Notice } from '../channels/carrier.ts';
import { compileCallbacks } from '../channels/http-sms/callbacks.ts';
import { createHttpSmsCarrier, createPoller, type HttpSmsContext, showExchange } from '../channels/http-sms/carrier.ts';
import type { Verify } from '../channels/http-sms/protocol.ts';
import {
  checkSecrets,
  type HttpSmsSecrets,
  HttpSmsSettings,
  parseHttpSmsSecrets,
  parseHttpSmsSettings,
  resolveSettings,
} from '../channels/http-sms/settings.ts';
import { type LaunchChange, readRcsCallback } from '../channels/rcs/callbacks.ts';
import { createRcsCarrier } from '../channels/rcs/carrier.ts';
import { bareAgentId, parseRcsSecrets, parseRcsSettings, RcsSettings } from '../channels/rcs/settings.ts';
import { getMember } from '../channels/settings.ts';
import { createSmppCarrier } from '../channels/smpp/carrier.ts';
import { parseSmppSettings, SmppSettings } from '../channels/smpp/settings.ts';
import { isAppSubscribed, listPhoneNumbers, registerNumber, subscribeApp } from '../channels/whatsapp/account.ts';
import { createWhatsappCarrier } from '../channels/whatsapp/carrier.ts';
import { createGraphClient, type GraphClient, type GraphFault } from '../channels/whatsapp/client.ts';
import { parseWhatsappSecrets, parseWhatsappSettings, WhatsappSettings } from '../channels/whatsapp/settings.ts';
import { guardedLookup } from '../core/outbound.ts';
import {
  addressOfUrl,
  type CallbackAnswer,
  type CallbackRequest,
  type CarrierContext,
  type CarrierSetup,
  jsonSecret,
  type Kind,
  type OpenConnection,
  type ReadCallback,
  rcsFiles,
  type Secret,
  type SetupStep,
  settingFields,
  whatsappFiles,
} from './kind.ts';
import { whatsappCallbacks, whatsappSecretsOf } from './whatsapp-callbacks.ts';

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
const httpKind: Kind = {
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

const RCS_SECRET = jsonSecret(
  [
    {
      name: 'serviceAccount',
      description: 'The key file of the service account, as Google issues it.',
      type: 'json',
      generated: false,
    },
    {
      name: 'clientToken',
      description: 'The client token that Google shows next to the webhook, with which it signs the callbacks.',
      type: 'text',
      generated: true,
    },
  ],
  parseRcsSecrets,
);

const SIGNATURE_HEADER = 'x-goog-signature';

/** Google RBM. */
const rcsKind: Kind = {
  title: 'RCS',
  leadsTo: 'a Google RBM partner account',
  channel: 'RCS',
  settings: settingFields(RcsSettings, { main: ['baseUrl', 'trafficType', 'tps'] }),
  secret: RCS_SECRET,
  checkSecret: null,
  isGuarded: false,
  parseSettings: parseRcsSettings,
  createCarrier: (settings, secret) => createRcsCarrier(parseRcsSettings(settings), rcsSecretsOf(secret)),
  tpsOf: (settings) => parseRcsSettings(settings).tps,
  forTest: (settings) => settings,
  addressOf: (settings) => addressOfUrl(parseRcsSettings(settings).baseUrl),
  limitsOf(settings) {
    const { concurrency, tps } = parseRcsSettings(settings);
    return { window: concurrency, perSecond: tps };
  },
  // An agent is not tied to settings: its id is first named when it is assigned.
  senderIdsOf: () => [],
  showExchange: null,
  setup: null,
  callbacks: {
    verification: null,
    signatureHeader: SIGNATURE_HEADER,
    // An event contains addresses of files, not the files.
    maxBodyBytes: 512 * 1024,
    // The handshake has a token instead of a signature.
    maxUnsignedBytes: 4096,
    createReader: (_settings, secret) => readWith(rcsSecretsOf(secret).clientToken),
  },
  createFileSource: (settings) => rcsFiles(parseRcsSettings(settings)),
  createTemplateClient: null,
};

const rcsSecretsOf = (secret: string) => parseRcsSecrets(JSON.parse(secret));

/** States of a launch after which an agent does not reach the people of a network. */
const SERIOUS_STATES: readonly string[] = ['REJECTED', 'SUSPENDED', 'UNLAUNCHED'];

const noticeOf = ({ agentId, regionId, state, comment }: LaunchChange): Notice => ({
  subject: `agent ${agentId} ${regionId}`.slice(0, 200).toWellFormed(),
  text: `The agent ${agentId} is ${state} in ${regionId}${comment === '' ? '' : `: ${comment}`}`
    .replaceAll('\0', '')
    .slice(0, 1000)
    .toWellFormed(),
  serious: SERIOUS_STATES.includes(state),
});

const readWith =
  (clientToken: string): ReadCallback =>
  ({ body, headers }): CallbackAnswer => {
    const signature = headers[SIGNATURE_HEADER];
    const read = readRcsCallback({ rawBody: body, signature: [signature].flat()[0], clientToken });
    if (read.kind !== 'events') return read;
    const { receipts, inbounds, subscriptions, launches, other } = read;
    return {
      kind: 'events',
      receipts,
      inbounds: inbounds.map((inbound) => ({ ...inbound, destination: bareAgentId(inbound.destination) })),
      subscriptions: subscriptions.map(({ agentId, ...rest }) => ({
        channel: 'RCS',
        purpose: '*',
        identity: bareAgentId(agentId),
        ...rest,
      })),
      templates: [],
      notices: launches.map(noticeOf),
      notes: other.flatMap(({ eventType }) => (eventType === 'IS_TYPING' ? [] : [eventType])),
    };
  };

/** The password is sealed unchanged. */
const SMPP_SECRET: Secret = {
  fields: [{ name: 'password', description: 'The password of the system id.', type: 'text', generated: false }],
  toText({ password }) {
    if (typeof password !== 'string') throw new Error('password: must be a text');
    return password;
  },
  toFields: (password) => ({ password }),
};

/** SMPP 3.4. */
const smppKind: Kind = {
  title: 'SMPP',
  leadsTo: 'an SMPP 3.4 carrier',
  channel: 'SMS',
  settings: settingFields(SmppSettings, {
    access: ['host', 'port', 'systemId'],
    main: ['tls', 'bind', 'binds', 'window', 'tps'],
  }),
  secret: SMPP_SECRET,
  checkSecret: null,
  isGuarded: false,
  parseSettings: parseSmppSettings,
  createCarrier: (settings, password) => createSmppCarrier(parseSmppSettings(settings), { password }),
  tpsOf: (settings) => parseSmppSettings(settings).tps,
  forTest: (settings) => ({ ...settings, binds: 1 }),
  addressOf: parseSmppSettings,
  limitsOf(settings) {
    const { window, binds, tps } = parseSmppSettings(settings);
    return { window: window * binds, perSecond: tps };
  },
  senderIdsOf: () => [],
  showExchange: null,
  setup: null,
  callbacks: null,
  createFileSource: null,
  createTemplateClient: null,
};

/** A person waits for the response. */
const TIMEOUT_SECONDS = 10;

/**
 * Set-up at Meta: the app is subscribed to the business account, and its numbers are registered for the Cloud API.
 * Without the subscription Meta posts nothing; without the registration it rejects every message with 133010.
 */
const whatsappSetup: CarrierSetup = {
  check: (connection) =>
    withClient(connection, async (client) => [
      await checkSubscription(client, connection),
      await checkNumbers(client, connection),
    ]),
  complete: (connection, { pin, callbackUrl }) =>
    withClient(connection, async (client) => [
      await subscribe(client, connection, callbackUrl),
      await registerNumbers(client, connection, pin),
    ]),
};

async function withClient<T>(
  { settings, secret }: OpenConnection,
  use: (client: GraphClient) => Promise<T>,
): Promise<T> {
  const timeouts = { submitTimeoutSeconds: TIMEOUT_SECONDS, connectTimeoutSeconds: TIMEOUT_SECONDS };
  const secrets = parseWhatsappSecrets(JSON.parse(secret));
  const client = createGraphClient({ ...parseWhatsappSettings(settings), ...timeouts }, secrets);
  try {
    return await use(client);
  } finally {
    await client.close();
  }
}

const SUBSCRIBED = 'The app is subscribed to the business account, so that Meta posts its events.';

async function checkSubscription(client: GraphClient, { name }: OpenConnection): Promise<SetupStep> {
  const answer = await isAppSubscribed(client);
  if (!answer.ok) return unknown('subscribe', 'whether the app is subscribed to the business account', answer.fault);
  const missing =
    'The app is not subscribed to the business account: Meta posts no receipts and no messages. ' +
    `Subscribe it: connection setup ${name}`;
  return { name: 'subscribe', ok: answer.value, detail: answer.value ? SUBSCRIBED : missing };
}

/**
 * Subscribes the app, with our URL for this account where Meta accepts one: over HTTPS, and once it has verified it.
 * Otherwise Meta posts to the URL of the app, where one connection receives for all.
 */
async function subscribe(
  client: GraphClient,
  { name, secret }: OpenConnection,
  callbackUrl: string | null,
): Promise<SetupStep> {
  const { verifyToken } = whatsappSecretsOf(secret);
  const own = callbackUrl?.startsWith('https://')
    ? await subscribeApp(client, { url: callbackUrl, verifyToken })
    : null;
  if (own?.ok) return { name: 'subscribe', ok: true, detail: `${SUBSCRIBED} It posts messages to ${callbackUrl}.` };
  const answer = await subscribeApp(client, null);
  const unverified = own === null ? '' : ` It could not verify ${callbackUrl}, so it posts to the URL of the app.`;
  if (answer.ok) return { name: 'subscribe', ok: true, detail: `${SUBSCRIBED}${unverified}` };
  const detail =
    `The app could not be subscribed to the business account: ${textOf(answer.fault)}. ` +
    `Without it, Meta posts no receipts and no messages. Try again: connection setup ${name}`;
  return { name: 'subscribe', ok: false, detail };
}

async function checkNumbers(client: GraphClient, { name }: OpenConnection): Promise<SetupStep> {
  const answer = await listPhoneNumbers(client);
  if (!answer.ok) return unknown('register', 'which numbers are registered', answer.fault);
  const registered = new Map(answer.value.map((number) => [number.id, number.registered]));
  const { phoneNumberIds } = client.settings;
  const waiting = phoneNumberIds.filter((id) => registered.get(id) === false);
  const foreign = phoneNumberIds.filter((id) => !registered.has(id));
  const faults = [
    ...(waiting.length > 0
      ? [
          `Not registered for the Cloud API: ${waiting.join(', ')}. Meta rejects their messages (133010). ` +
            `Register them: connection setup ${name} --pin PIN`,
        ]
      : []),
    ...(foreign.length > 0
      ? [`Not in the business account: ${foreign.join(', ')}. Compare phoneNumberIds with WhatsApp Manager.`]
      : []),
  ];
  return {
    name: 'register',
    ok: faults.length === 0,
    detail: faults.join(' ') || 'All numbers are registered for the Cloud API.',
  };
}

/** Registers the numbers that are not registered yet: Meta allows ten attempts in 72 hours. */
async function registerNumbers(
  client: GraphClient,
  connection: OpenConnection,
  pin: string | null,
): Promise<SetupStep> {
  const answer = await listPhoneNumbers(client);
  if (pin === null || !answer.ok) return checkNumbers(client, connection);
  const ids = client.settings.phoneNumberIds;
  const waiting = answer.value.filter(({ id, registered }) => !registered && ids.includes(id));
  for (const { id } of waiting) {
    const done = await registerNumber(client, { id, pin });
    if (!done.ok)
      return { name: 'register', ok: false, detail: `${id} could not be registered: ${textOf(done.fault)}.` };
  }
  return checkNumbers(client, connection);
}

const unknown = (name: SetupStep['name'], what: string, fault: GraphFault): SetupStep => ({
  name,
  ok: false,
  detail: `Meta did not say ${what}: ${textOf(fault)}.`,
});

const textOf = ({ code, text }: GraphFault): string => `${text.replace(/\.$/, '')} (${code})`;

const WHATSAPP_SECRET = jsonSecret(
  [
    { name: 'accessToken', description: 'The token of a system user.', type: 'text', generated: false },
    {
      name: 'appSecret',
      description: 'The secret of the app, which signs the callbacks.',
      type: 'text',
      generated: false,
    },
    {
      name: 'verifyToken',
      description: 'The token that Meta sends when it verifies the callback URL.',
      type: 'text',
      generated: true,
    },
  ],
  parseWhatsappSecrets,
);

/** WhatsApp Cloud API: one business account. */
const whatsappKind: Kind = {
  title: 'WhatsApp',
  leadsTo: 'a WhatsApp business account (Cloud API)',
  channel: 'WHATSAPP',
  settings: settingFields(WhatsappSettings, { access: ['wabaId', 'phoneNumberIds'], main: ['appId', 'tps'] }),
  secret: WHATSAPP_SECRET,
  checkSecret: null,
  isGuarded: false,
  parseSettings: parseWhatsappSettings,
  createCarrier: (settings, secret) =>
    createWhatsappCarrier(parseWhatsappSettings(settings), whatsappSecretsOf(secret)),
  // The carrier enforces the rate of each number.
  tpsOf: () => 0,
  forTest: (settings) => settings,
  addressOf: (settings) => addressOfUrl(parseWhatsappSettings(settings).baseUrl),
  limitsOf(settings) {
    const { concurrency, tps, phoneNumberIds } = parseWhatsappSettings(settings);
    return { window: concurrency, perSecond: tps * phoneNumberIds.length };
  },
  senderIdsOf: (settings) => parseWhatsappSettings(settings).phoneNumberIds,
  showExchange: null,
  setup: whatsappSetup,
  callbacks: whatsappCallbacks,
  createFileSource: (settings, secret) => whatsappFiles(parseWhatsappSettings(settings), whatsappSecretsOf(secret)),
  createTemplateClient: (settings, secret, timeoutSeconds) =>
    createGraphClient(
      { ...parseWhatsappSettings(settings), submitTimeoutSeconds: timeoutSeconds },
      whatsappSecretsOf(secret),
    ),
};

/** The kinds of connections, in the order in which they are offered. */
export const CONNECTION_KINDS = ['smpp', 'http', 'whatsapp', 'rcs'] as const;

export type ConnectionKind = (typeof CONNECTION_KINDS)[number];

const KINDS: Readonly<Record<ConnectionKind, Kind>> = {
  smpp: smppKind,
  http: httpKind,
  whatsapp: whatsappKind,
  rcs: rcsKind,
};

export const kindOf = ({ kind }: { readonly kind: ConnectionKind }): Kind => KINDS[kind];
