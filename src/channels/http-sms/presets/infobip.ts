import { definePreset } from '../protocol.ts';

/**
 * Infobip SMS API v3 (infobip.com/docs/api/channels/sms and
 * …/developer-resources/api-fundamentals/message-status-codes, in November 2026; infobip-api-java-client 6.4.0). The
 * base URL is that of the account there. Callbacks prove their origin by the token in their URL. Inbound messages need
 * the callback URL with the token at the number there.
 *
 * DELIVERED_TO_OPERATOR belongs to the group DELIVERED, but is not final: the network has the message, the handset does
 * not have it yet.
 */
export const infobip = definePreset({
  needs: ['baseUrl', 'apiKey'],
  probePath: '/account/1/balance',
  request: {
    path: '/sms/3/messages',
    headers: { authorization: 'App {{apiKey}}', accept: 'application/json' },
    body: {
      messages: [
        {
          sender: '{{fromPlain}}',
          destinations: [{ to: '{{toDigits}}', messageId: '{{messageId}}' }],
          content: { text: '{{text}}' },
          options: { validityPeriod: { amount: '{{validityMinutes}}', timeUnit: 'MINUTES' } },
          webhooks: {
            delivery: { url: '{{callbackUrl}}' },
            contentType: 'application/json',
            callbackData: '{{messageId}}',
          },
        },
      ],
    },
    maxValiditySeconds: 172_800,
  },
  answer: {
    id: '/messages/0/messageId',
    code: '/messages/0/status/name | /errorCode | /requestError/serviceException/messageId',
    text: '/messages/0/status/description | /description | /requestError/serviceException/text',
    rules: [
      {
        status: '200',
        at: '/messages/0/status/groupName',
        is: ['PENDING', 'ACCEPTED', 'DELIVERED'],
        outcome: 'accepted',
      },
      { status: '200', is: ['REJECTED_NOT_ENOUGH_CREDITS', 'REJECTED_PREPAID_PACKAGE_EXPIRED'], outcome: 'fault' },
      { status: '200', is: ['REJECTED_SYSTEM_ERROR'], outcome: 'later' },
      // An earlier attempt of ours, whose response may have been lost; its receipt names our id.
      { status: '200', is: ['REJECTED_DUPLICATE_MESSAGE_ID'], outcome: 'unknown' },
      {
        status: '200',
        at: '/messages/0/status/groupName',
        is: ['UNDELIVERABLE'],
        outcome: 'refused',
        as: 'UNDELIVERABLE',
      },
      {
        status: '200',
        is: ['REJECTED_PREFIX_MISSING', 'REJECTED_DESTINATION', 'MISSING_TO'],
        outcome: 'refused',
        as: 'UNDELIVERABLE',
      },
      // The recipient wants no messages, or gets too many; a text that is too long.
      {
        status: '200',
        is: [
          'REJECTED_DND',
          'REJECTED_DESTINATION_BLOCKLISTED',
          'REJECTED_FLOODING_FILTER',
          'REJECTED_MESSAGE_TOO_LONG',
          'SIGNALS_BLOCKED',
        ],
        outcome: 'refused',
      },
      { status: '200', at: '/messages/0/status/groupName', is: ['REJECTED'], outcome: 'refused', elsewhere: true },
    ],
  },
  receipts: {
    list: '/results',
    ids: ['/messageId', '/callbackData'],
    state: '/status/name | /status/groupName',
    states: {
      DELIVERED_TO_OPERATOR: 'ACCEPTED',
      // No operator reported its final state.
      EXPIRED_DLR_UNKNOWN: 'UNKNOWN',
      SIGNALS_BLOCKED: 'REJECTED',
      PENDING: 'ACCEPTED',
      ACCEPTED: 'ACCEPTED',
      DELIVERED: 'DELIVERED',
      UNDELIVERABLE: 'UNDELIVERABLE',
      EXPIRED: 'EXPIRED',
      REJECTED: 'REJECTED',
    },
    code: '/error/name',
    at: '/doneAt',
    to: '/to',
    from: '/sender | /from',
  },
  inbound: {
    list: '/results',
    when: { at: '/receivedAt', is: ['*'] },
    id: '/messageId',
    from: '/from',
    to: '/to',
    text: '/text',
    at: '/receivedAt',
  },
  verify: { by: 'query', name: 'token' },
});
