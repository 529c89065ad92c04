import { definePreset } from '../protocol.ts';

/**
 * Telnyx Messaging API v2 (developers.telnyx.com/api-reference/messages, …/docs/messaging/messages/receiving-webhooks
 * and …/error-codes, in November 2026; telnyx-node 7.24). The account, which senders with letters need, is the
 * messaging profile id. The signing key is the public key of the account there. Inbound messages need the callback URL
 * at the messaging profile.
 */
export const telnyx = definePreset({
  baseUrl: 'https://api.telnyx.com',
  needs: ['apiKey', 'signingKey'],
  probePath: '/v2/balance',
  request: {
    path: '/v2/messages',
    auth: 'bearer',
    body: {
      from: '{{from}}',
      to: '{{to}}',
      text: '{{text}}',
      messaging_profile_id: '{{account}}',
      webhook_url: '{{callbackUrl}}',
      use_profile_webhooks: false,
    },
  },
  answer: {
    id: '/data/id',
    code: '/errors/0/code',
    text: '/errors/0/detail | /errors/0/title',
    rules: [
      { is: ['10009'], outcome: 'fault' },
      // Insufficient funds; the spending limit of the day, which returns 429 until midnight.
      { is: ['20100', '40333'], outcome: 'fault' },
      { is: ['10011', '40318'], outcome: 'throttled' },
      // Not a number, not a mobile number; opted out; expired.
      { is: ['40310', '40001'], outcome: 'refused', as: 'UNDELIVERABLE' },
      { is: ['40300', '40002', '40003'], outcome: 'refused' },
      // A sender or a destination that our account may not use.
      { is: ['40305', '40306', '40309', '40312', '40313'], outcome: 'refused', elsewhere: true },
    ],
  },
  receipts: {
    when: { at: '/data/event_type', is: ['message.sent', 'message.finalized'] },
    ids: ['/data/payload/id'],
    state: '/data/payload/to/0/status',
    states: {
      queued: 'ACCEPTED',
      sending: 'ACCEPTED',
      sent: 'ACCEPTED',
      delivered: 'DELIVERED',
      expired: 'EXPIRED',
      sending_failed: 'REJECTED',
      delivery_failed: 'UNDELIVERABLE',
      delivery_unconfirmed: 'UNKNOWN',
    },
    code: '/data/payload/errors/0/code',
    at: '/data/occurred_at',
    to: '/data/payload/to/0/phone_number',
    from: '/data/payload/from/phone_number',
  },
  inbound: {
    when: { at: '/data/event_type', is: ['message.received'] },
    id: '/data/payload/id',
    from: '/data/payload/from/phone_number',
    to: '/data/payload/to/0/phone_number',
    text: '/data/payload/text',
    at: '/data/occurred_at',
  },
  verify: {
    by: 'signature',
    name: 'telnyx-signature-ed25519',
    algorithm: 'ed25519',
    encoding: 'base64',
    over: '{{header:telnyx-timestamp}}|{{body}}',
    keyEncoding: 'base64',
    timestamp: 'header:telnyx-timestamp',
    maxAgeSeconds: 300,
  },
});
