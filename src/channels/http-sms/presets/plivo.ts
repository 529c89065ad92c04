import { definePreset } from '../protocol.ts';

/**
 * Plivo Message API v1 (plivo.com/docs/messaging/api/message, and the V3 signature of plivo-node 4.78, in November
 * 2026). The account is the Auth ID, the API key the Auth Token, which signs the callbacks, too: give Plivo callback
 * URLs without a query. A long message has one id here, and its receipts come for each part: the first final one
 * counts. Inbound messages need the callback URL at the application of the number.
 */
export const plivo = definePreset({
  baseUrl: 'https://api.plivo.com',
  needs: ['account', 'apiKey'],
  probePath: '/v1/Account/{{account}}/',
  request: {
    path: '/v1/Account/{{account}}/Message/',
    auth: 'basic',
    username: '{{account}}',
    body: { src: '{{fromPlain}}', dst: '{{toDigits}}', text: '{{text}}', url: '{{callbackUrl}}', method: 'POST' },
  },
  answer: {
    id: '/message_uuid/0',
    text: '/error',
    rules: [{ status: '402', outcome: 'fault' }],
  },
  receipts: {
    ids: ['/ParentMessageUUID | /MessageUUID'],
    state: '/Status',
    states: {
      queued: 'ACCEPTED',
      sent: 'ACCEPTED',
      delivered: 'DELIVERED',
      read: 'DELIVERED',
      undelivered: 'UNDELIVERABLE',
      failed: 'UNDELIVERABLE',
      rejected: 'REJECTED',
    },
    code: '/ErrorCode',
    to: '/To',
    from: '/From',
  },
  inbound: {
    when: { at: '/Type', is: ['sms'] },
    id: '/MessageUUID',
    from: '/From',
    to: '/To',
    text: '/Text',
  },
  verify: {
    by: 'signature',
    name: 'X-Plivo-Signature-V3 | X-Plivo-Signature-MA-V3',
    encoding: 'base64',
    over: '{{path}}?{{params}}.{{header:x-plivo-signature-v3-nonce}}',
    separator: ',',
    key: 'apiKey',
  },
});
