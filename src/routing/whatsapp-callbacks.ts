import { createHash } from 'node:crypto';
import { getMember, getText } from '../channels/settings.ts';
import {
  readWhatsappCallback,
  readWhatsappChanges,
  verifyChallenge,
  type WabaChange,
  type WhatsappCallback,
} from '../channels/whatsapp/callbacks.ts';
import { parseWhatsappSecrets, parseWhatsappSettings, type WhatsappSecrets } from '../channels/whatsapp/settings.ts';
import { isRecord } from '../core/schema.ts';
import type { CallbackAnswer, CallbackEvents, CallbackPart, CallbackRequest, Callbacks } from './kind.ts';

/** Returns the secrets in the text that is sealed for a connection. */
export const whatsappSecretsOf = (secret: string): WhatsappSecrets => parseWhatsappSecrets(JSON.parse(secret));

const WHATSAPP_SIGNATURE_HEADER = 'x-hub-signature-256';

/** The requests that Meta sends to the callback URL of an app, which may serve several connections. */
export const whatsappCallbacks: Callbacks = {
  verification: {
    summary: 'Verify the callback URL for Meta',
    description: 'Returns `hub.challenge` when `hub.verify_token` is that of the connection, else 403.',
  },
  signatureHeader: WHATSAPP_SIGNATURE_HEADER,
  // Meta sends up to 3 MB.
  maxBodyBytes: 4 * 1024 * 1024,
  maxUnsignedBytes: 0,
  createReader(_settings, secret) {
    const secrets = whatsappSecretsOf(secret);
    return (request) => (request.method === 'GET' ? verify(request, secrets) : read(request, secrets));
  },
  sharedBy(settings, secret) {
    const [known, { appSecret }] = [parseWhatsappSettings(settings), whatsappSecretsOf(secret)];
    return {
      app: createHash('sha256').update(appSecret).digest('hex'),
      owner: known.wabaId,
      senders: known.phoneNumberIds,
      readParts: (parts) => whatsappEventsOf(readWhatsappChanges(parts.flatMap(toChange), known)),
    };
  },
};

function verify({ query }: CallbackRequest, { verifyToken }: WhatsappSecrets): CallbackAnswer {
  const text = verifyChallenge(query, verifyToken);
  return text === null ? { kind: 'refused' } : { kind: 'handshake', text };
}

/** All changes are parts: also those of the connection that was called may belong to others with its account. */
function read(request: CallbackRequest, { appSecret }: WhatsappSecrets): CallbackAnswer {
  const signature = [request.headers[WHATSAPP_SIGNATURE_HEADER]].flat()[0];
  const found = readWhatsappCallback({ rawBody: request.body, signature, appSecret });
  if (found.kind === 'forbidden') return { kind: 'forged' };
  if (found.kind === 'malformed') return found;
  return { ...NO_EVENTS, parts: found.changes.map(toPart) };
}

const NO_EVENTS: CallbackEvents = {
  kind: 'events',
  receipts: [],
  inbounds: [],
  subscriptions: [],
  templates: [],
  notices: [],
  notes: [],
};

/**
 * Converts a change to a part of a callback. Only changes of a number are lasting: yesterday's state of a template or
 * account is of no use to a connection that asks for the current one when it is added.
 */
const toPart = (change: WabaChange): CallbackPart => {
  const sender = getText(getMember(change.value, 'metadata'), 'phone_number_id');
  return { owner: change.wabaId, sender, lasting: sender !== '', content: change };
};

const toChange = ({ content }: CallbackPart): WabaChange[] =>
  isRecord(content)
    ? [{ wabaId: getText(content, 'wabaId'), field: getText(content, 'field'), value: content['value'] }]
    : [];

const whatsappEventsOf = ({
  receipts,
  inbounds,
  templateChanges,
  notices,
  preferences,
  messagingLimit,
  other,
}: WhatsappCallback): CallbackEvents => ({
  kind: 'events',
  receipts,
  inbounds,
  subscriptions: preferences.map(({ phoneNumberId, person, wanted, at }) => ({
    channel: 'WHATSAPP',
    purpose: 'marketing',
    identity: phoneNumberId,
    phoneNumber: person,
    subscribed: wanted,
    at,
  })),
  templates: templateChanges.flatMap(({ templateId: id, status, reason, quality }) =>
    status === null && quality === null ? [] : [{ id, status, reason, quality }],
  ),
  notices,
  ...(messagingLimit !== undefined && { messagingLimit }),
  notes: other.map(({ field, wabaId, phoneNumberId, why }) => `${why} ${field} of ${phoneNumberId ?? wabaId}`),
});
