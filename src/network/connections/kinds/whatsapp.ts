import { readWhatsappCallback, verifyChallenge, type WhatsappCallback } from '../../../carriers/whatsapp/callbacks.ts';
import { createGraphClient } from '../../../carriers/whatsapp/client.ts';
import { createWhatsappCarrier } from '../../../carriers/whatsapp/carrier.ts';
import {
  parseWhatsappSecrets,
  parseWhatsappSettings,
  type WhatsappSecrets,
  WhatsappSettings,
} from '../../../carriers/whatsapp/settings.ts';
import type { CallbackAnswer, CallbackRequest } from './callback.ts';
import { addressOfUrl } from './address.ts';
import { whatsappFiles } from './files.ts';
import type { Kind } from './kind.ts';
import { jsonSecret } from './secret.ts';
import { settingFields } from './setting-fields.ts';
import { whatsappSetup } from './whatsapp-setup.ts';

const SECRET = jsonSecret(
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

const SIGNATURE_HEADER = 'x-hub-signature-256';

/** WhatsApp Cloud API: one business account. */
export const whatsappKind: Kind = {
  title: 'WhatsApp',
  leadsTo: 'a WhatsApp business account (Cloud API)',
  channel: 'WHATSAPP',
  settings: settingFields(WhatsappSettings, { access: ['wabaId', 'phoneNumberIds'], main: ['appId', 'tps'] }),
  secret: SECRET,
  checkSecret: null,
  isGuarded: false,
  parseSettings: parseWhatsappSettings,
  createCarrier: (settings, secret) => createWhatsappCarrier(parseWhatsappSettings(settings), secretsOf(secret)),
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
  callbacks: {
    verification: {
      summary: 'Verify the callback URL for Meta',
      description: 'Returns `hub.challenge` when `hub.verify_token` is that of the connection, else 403.',
    },
    signatureHeader: SIGNATURE_HEADER,
    // Meta sends up to 3 MB.
    maxBodyBytes: 4 * 1024 * 1024,
    maxUnsignedBytes: 0,
    createReader(settings, secret) {
      const [known, secrets] = [parseWhatsappSettings(settings), secretsOf(secret)];
      return (request) => (request.method === 'GET' ? verify(request, secrets) : read(request, known, secrets));
    },
  },
  createFileSource: (settings, secret) => whatsappFiles(parseWhatsappSettings(settings), secretsOf(secret)),
  createTemplateClient: (settings, secret, timeoutSeconds) =>
    createGraphClient({ ...parseWhatsappSettings(settings), submitTimeoutSeconds: timeoutSeconds }, secretsOf(secret)),
};

const secretsOf = (secret: string): WhatsappSecrets => parseWhatsappSecrets(JSON.parse(secret));

function verify({ query }: CallbackRequest, { verifyToken }: WhatsappSecrets): CallbackAnswer {
  const text = verifyChallenge(query, verifyToken);
  return text === null ? { kind: 'refused' } : { kind: 'handshake', text };
}

function read(request: CallbackRequest, settings: WhatsappSettings, { appSecret }: WhatsappSecrets): CallbackAnswer {
  const { wabaId, phoneNumberIds } = settings;
  const signature = [request.headers[SIGNATURE_HEADER]].flat()[0];
  const found = readWhatsappCallback({ rawBody: request.body, signature, appSecret, wabaId, phoneNumberIds });
  if (found.kind === 'forbidden') return { kind: 'forged' };
  return found.kind === 'malformed' ? found : eventsOf(found.callback);
}

const eventsOf = ({ receipts, inbounds, templateChanges, notices, other }: WhatsappCallback): CallbackAnswer => ({
  kind: 'events',
  receipts,
  inbounds,
  subscriptions: [],
  templates: templateChanges.flatMap(({ templateId: id, status, reason, quality }) =>
    status === null && quality === null ? [] : [{ id, status, reason, quality }],
  ),
  notices,
  notes: other.map(({ field, wabaId, phoneNumberId, why }) => `${why} ${field} of ${phoneNumberId ?? wabaId}`),
});
