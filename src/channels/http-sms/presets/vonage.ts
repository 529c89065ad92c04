import { definePreset } from '../protocol.ts';

/**
 * Vonage SMS API (developer.vonage.com/api/sms, developer.vonage.com/api-errors/sms, in November 2026). The account is
 * the API key, the API key here its secret. Callbacks prove their origin by the token in their URL, because Vonage
 * signs them only on request. Inbound messages need the callback URL with the token at the number there; GET and POST
 * both work.
 */
export const vonage = definePreset({
  baseUrl: 'https://rest.nexmo.com',
  needs: ['account', 'apiKey'],
  probePath: '/account/get-balance?api_key={{account}}&api_secret={{apiKey}}',
  request: {
    path: '/sms/json',
    format: 'form',
    body: {
      api_key: '{{account}}',
      api_secret: '{{apiKey}}',
      to: '{{toDigits}}',
      from: '{{fromPlain}}',
      text: '{{text}}',
      type: '{{encoding}}',
      ttl: '{{validityMs}}',
      'client-ref': '{{messageId}}',
      callback: '{{callbackUrl}}',
    },
    gsm: 'text',
    ucs2: 'unicode',
    maxValiditySeconds: 604_800,
  },
  answer: {
    id: '/messages/*/message-id',
    code: '/messages/0/status',
    text: '/messages/0/error-text',
    rules: [
      { status: '200', is: ['0'], outcome: 'accepted' },
      { is: ['1', '10'], outcome: 'throttled' },
      // Wrong credentials or signature, a barred account, no credit, no HTTP access.
      { is: ['4', '8', '9', '11', '14', '32'], outcome: 'fault' },
      // An internal error while the message was processed: it may or may not have been taken.
      { is: ['5'], outcome: 'unknown' },
      // No such number or network; a number that its operator has deactivated.
      { is: ['6', '22', '33'], outcome: 'refused', as: 'UNDELIVERABLE' },
      { is: ['7', '12'], outcome: 'refused' },
      // A parameter, a sender or a destination that our account may not use.
      { is: ['2', '3', '15', '23', '29'], outcome: 'refused', elsewhere: true },
      { status: '200', is: ['*'], outcome: 'refused' },
    ],
  },
  receipts: {
    ids: ['/messageId', '/client-ref'],
    state: '/status',
    states: {
      accepted: 'ACCEPTED',
      buffered: 'ACCEPTED',
      delivered: 'DELIVERED',
      expired: 'EXPIRED',
      failed: 'UNDELIVERABLE',
      rejected: 'REJECTED',
      deleted: 'DELETED',
      unknown: 'UNKNOWN',
    },
    code: '/err-code',
    at: '/message-timestamp',
    // In receipts, `to` is the sender.
    to: '/msisdn',
    from: '/to',
  },
  inbound: {
    when: { at: '/type', is: ['text', 'unicode'] },
    id: '/messageId',
    from: '/msisdn',
    to: '/to',
    text: '/text',
    at: '/message-timestamp',
    ref: '/concat-ref',
    total: '/concat-total',
    part: '/concat-part',
  },
  verify: { by: 'query', name: 'token' },
});
