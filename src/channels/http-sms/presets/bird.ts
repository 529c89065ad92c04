import { definePreset } from '../protocol.ts';

/**
 * Bird Channels API (docs.bird.com/api/channels-api, and
 * …/notifications-api/api-reference/webhooks/verifying-a-webhook, in November 2026). The base URL has the workspace and
 * the channel, which is the sender: `https://api.bird.com/workspaces/…/channels/…`. Statuses and inbound messages need
 * webhook subscriptions (`sms.outbound`, `sms.inbound`) with the callback URL and the signing key. Bird repeats a
 * callback for eight hours with its first time.
 */
export const bird = definePreset({
  needs: ['baseUrl', 'apiKey', 'signingKey'],
  probePath: '/messages?limit=1',
  request: {
    path: '/messages',
    headers: { authorization: 'AccessKey {{apiKey}}' },
    body: {
      receiver: { contacts: [{ identifierKey: 'phonenumber', identifierValue: '{{to}}' }] },
      body: { type: 'text', text: { text: '{{text}}' } },
      reference: '{{messageId}}',
    },
  },
  answer: {
    id: '/id',
    code: '/code',
    text: '/message',
    rules: [{ status: '402', outcome: 'fault' }],
  },
  receipts: {
    when: { at: '/event', is: ['sms.outbound'] },
    ids: ['/payload/id', '/payload/reference'],
    state: '/payload/status',
    states: {
      accepted: 'ACCEPTED',
      processing: 'ACCEPTED',
      sent: 'ACCEPTED',
      delivered: 'DELIVERED',
      delivery_failed: 'UNDELIVERABLE',
      sending_failed: 'UNDELIVERABLE',
      rejected: 'REJECTED',
      skipped: 'REJECTED',
      deleted: 'DELETED',
    },
    code: '/payload/reason',
    at: '/payload/lastStatusAt',
    to: '/payload/receiver/contacts/0/identifierValue',
  },
  inbound: {
    when: { at: '/event', is: ['sms.inbound'] },
    id: '/payload/id',
    from: '/payload/sender/contact/identifierValue',
    to: '/payload/receiver/connector/identifierValue | /payload/receiver/connectors/0/identifierValue',
    text: '/payload/body/text/text',
    at: '/payload/createdAt',
  },
  verify: {
    by: 'signature',
    name: 'messagebird-signature',
    encoding: 'base64',
    over: '{{header:messagebird-request-timestamp}}\n{{url}}\n{{bodyHash}}',
    timestamp: 'header:messagebird-request-timestamp',
    maxAgeSeconds: 36_000,
  },
});
