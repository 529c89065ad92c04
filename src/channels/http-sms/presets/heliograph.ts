import { definePreset } from '../protocol.ts';

/**
 * Another Heliograph as the carrier, from version 0.2 (docs/api.md). Register its webhook with this connection's
 * callback URL by `POST …/webhooks/delivery-status` there; the `secret` in the response is the signing key.
 */
export const heliograph = definePreset({
  needs: ['baseUrl', 'apiKey', 'signingKey'],
  // Returns 200, or 403 to a key without the scope `money`; 401 to an invalid key.
  probePath: '/api/partner-gateway/v1/subscription',
  request: {
    path: '/api/message-server/sms/send',
    headers: { 'x-api-key': '{{apiKey}}', 'idempotency-key': '{{messageId}}' },
    body: {
      phoneNumber: '{{to}}',
      senderName: '{{fromPlain}}',
      message: '{{text}}',
      customerMessageId: '{{messageId}}',
      enableNotification: '{{wantReceipt}}',
      validityPeriod: '{{validityMinutes}}',
    },
    maxValiditySeconds: 4320 * 60,
    idempotent: true,
  },
  answer: {
    id: '/messageId',
    code: '/results/0/statusCode',
    text: '/results/0/reasons/0',
    rules: [
      // No credit there. No route and no price concern our account, too; the recipient's opt-out does not.
      { status: '200', is: ['402'], outcome: 'fault' },
      { status: '200', is: ['403'], outcome: 'refused' },
      { status: '200', is: ['400'], outcome: 'refused', elsewhere: true },
      { status: '401', outcome: 'fault' },
      { status: '403', outcome: 'fault' },
      { status: '404', outcome: 'fault' },
      // The first attempt is still in progress. Without the header, the id was used with another body.
      { status: '409', at: 'header:retry-after', is: ['*'], outcome: 'later' },
      { status: '409', outcome: 'unknown' },
    ],
  },
  receipts: {
    when: { at: '/eventType', is: ['DELIVERY'] },
    ids: ['/messageId', '/customerMessageId'],
    state: '/statusCode',
    states: {
      1: 'ACCEPTED',
      2: 'REJECTED',
      3: 'DELIVERED',
      4: 'EXPIRED',
      5: 'DELETED',
      6: 'UNDELIVERABLE',
      9: 'REJECTED',
      10: 'REJECTED',
      11: 'UNDELIVERABLE',
      12: 'REJECTED',
    },
    code: '/statusCode',
    at: '/timestamp',
    to: '/destination',
  },
  inbound: {
    when: { at: '/eventType', is: ['INBOUND'] },
    id: 'header:webhook-id',
    from: '/source',
    to: '/destination',
    text: '/text',
    at: '/timestamp',
  },
  verify: {
    by: 'signature',
    name: 'webhook-signature',
    encoding: 'base64',
    over: '{{header:webhook-id}}.{{header:webhook-timestamp}}.{{body}}',
    prefix: 'v1,',
    separator: ' ',
    keyEncoding: 'base64',
    timestamp: 'header:webhook-timestamp',
    maxAgeSeconds: 300,
  },
});
