import { readWhatsappCallback, verifyChallenge, type WhatsappCallback } from '../../../carriers/whatsapp/callbacks.ts';
import { createWhatsappCarrier } from '../../../carriers/whatsapp/carrier.ts';
import {
  parseWhatsappSecrets,
  parseWhatsappSettings,
  type WhatsappSecrets,
  type WhatsappSettings,
} from '../../../carriers/whatsapp/settings.ts';
import type { CallbackAnswer, CallbackRequest } from './callback.ts';
import { addressOfUrl } from './address.ts';
import { whatsappFiles } from './files.ts';
import type { Kind } from './kind.ts';

/** WhatsApp Cloud API: one business account. The secret is its access token, the app's secret and our verify token. */
export const whatsappKind: Kind = {
  channel: 'WHATSAPP',
  parseSettings: parseWhatsappSettings,
  parseSecret: (secret) => JSON.stringify(parseWhatsappSecrets(secret)),
  createCarrier: (settings, secret) => createWhatsappCarrier(parseWhatsappSettings(settings), secretsOf(secret)),
  // The carrier holds the rate of each number.
  tpsOf: () => 0,
  forTest: (settings) => settings,
  addressOf: (settings) => addressOfUrl(parseWhatsappSettings(settings).baseUrl),
  limitsOf(settings) {
    const { concurrency, tps, phoneNumberIds } = parseWhatsappSettings(settings);
    return { window: concurrency, perSecond: tps * phoneNumberIds.length };
  },
  ownToken: 'verifyToken',
  createReader(settings, secret) {
    const [known, secrets] = [parseWhatsappSettings(settings), secretsOf(secret)];
    return (request) => (request.method === 'GET' ? shakeHands(request, secrets) : read(request, known, secrets));
  },
  createFileSource: (settings, secret) => whatsappFiles(parseWhatsappSettings(settings), secretsOf(secret)),
};

const secretsOf = (secret: string): WhatsappSecrets => parseWhatsappSecrets(JSON.parse(secret));

function shakeHands({ query }: CallbackRequest, { verifyToken }: WhatsappSecrets): CallbackAnswer {
  const text = verifyChallenge(query, verifyToken);
  return text === null ? { kind: 'refused' } : { kind: 'handshake', text };
}

function read(request: CallbackRequest, settings: WhatsappSettings, { appSecret }: WhatsappSecrets): CallbackAnswer {
  const { wabaId, phoneNumberIds } = settings;
  const signature = [request.headers['x-hub-signature-256']].flat()[0];
  const found = readWhatsappCallback({ rawBody: request.body, signature, appSecret, wabaId, phoneNumberIds });
  if (found.kind === 'forbidden') return { kind: 'forged' };
  return found.kind === 'malformed' ? found : eventsOf(found.callback);
}

const eventsOf = ({ receipts, inbounds, templateChanges, other }: WhatsappCallback): CallbackAnswer => ({
  kind: 'events',
  receipts,
  inbounds,
  subscriptions: [],
  templates: templateChanges.flatMap(({ templateId: id, status, reason }) =>
    status === null ? [] : [{ id, status, reason }],
  ),
  notes: other.map(({ field, wabaId, phoneNumberId, why }) => `${why} ${field} of ${phoneNumberId ?? wabaId}`),
});
