import { definePreset } from '../protocol.ts';

/**
 * Sinch SMS API, XMS v1 (developers.sinch.com/docs/sms/api-reference, in November 2026; sinch-sdk-node 1.5). The
 * account is the service plan id, the API key its token. The base URL is that of the region,
 * `https://us.sms.api.sinch.com` by default. Callbacks prove their origin by the token in their URL, because Sinch does
 * not sign those of SMS. Inbound messages need the callback URL with the token at the service plan.
 */
export const sinch = definePreset({
  baseUrl: 'https://us.sms.api.sinch.com',
  needs: ['account', 'apiKey'],
  probePath: '/xms/v1/{{account}}/batches?page_size=1',
  request: {
    path: '/xms/v1/{{account}}/batches',
    auth: 'bearer',
    body: {
      type: 'mt_text',
      from: '{{fromPlain}}',
      to: ['{{toDigits}}'],
      body: '{{text}}',
      delivery_report: 'per_recipient',
      callback_url: '{{callbackUrl}}',
      client_reference: '{{messageId}}',
      expire_at: '{{validUntil}}',
    },
    // Three days after the message is sent, the longest that is accepted.
    maxValiditySeconds: 259_200,
  },
  answer: {
    id: '/id',
    code: '/code',
    text: '/text',
    rules: [
      { status: '400', is: ['syntax_invalid_parameter_format'], outcome: 'refused', as: 'UNDELIVERABLE' },
      { status: '403', outcome: 'refused', elsewhere: true },
    ],
  },
  receipts: {
    when: { at: '/type', is: ['recipient_delivery_report_sms'] },
    ids: ['/batch_id', '/client_reference'],
    state: '/status',
    states: {
      queued: 'ACCEPTED',
      dispatched: 'ACCEPTED',
      delivered: 'DELIVERED',
      expired: 'EXPIRED',
      failed: 'UNDELIVERABLE',
      rejected: 'REJECTED',
      aborted: 'REJECTED',
      cancelled: 'DELETED',
      deleted: 'DELETED',
      unknown: 'UNKNOWN',
    },
    code: '/code',
    at: '/at',
    to: '/recipient',
  },
  inbound: {
    when: { at: '/type', is: ['mo_text'] },
    id: '/id',
    from: '/from',
    to: '/to',
    text: '/body',
    at: '/received_at',
  },
  verify: { by: 'query', name: 'token' },
});
