import { definePreset } from '../protocol.ts';

/**
 * Twilio Programmable Messaging, API 2010-04-01 (twilio.com/docs/messaging/api/message-resource,
 * twilio.com/docs/api/errors, in November 2026; twilio-oai of April 2026, and twilio-node 6.2.0). The account is the
 * account SID, the API key its auth token, which signs the callbacks, too. Inbound messages need the callback URL at
 * the number or the messaging service there.
 */
export const twilio = definePreset({
  baseUrl: 'https://api.twilio.com',
  needs: ['account', 'apiKey'],
  probePath: '/2010-04-01/Accounts/{{account}}.json',
  request: {
    path: '/2010-04-01/Accounts/{{account}}/Messages.json',
    auth: 'basic',
    username: '{{account}}',
    format: 'form',
    body: {
      To: '{{to}}',
      From: '{{from}}',
      Body: '{{text}}',
      StatusCallback: '{{callbackUrl}}',
      ValidityPeriod: '{{validitySeconds}}',
    },
    maxValiditySeconds: 36_000,
  },
  answer: {
    id: '/sid',
    code: '/code',
    text: '/message',
    rules: [
      // Too many messages are queued for the sender, or requests came too fast.
      { is: ['21611', '14107', '20429'], outcome: 'throttled' },
      // The last one is the limit of a day, which returns 429 until the next.
      { is: ['20003', '20005', '20008', '63038'], outcome: 'fault' },
      // Not a number, not a mobile number, not reachable.
      { is: ['21211', '21214', '21217', '21265', '21614', '21635'], outcome: 'refused', as: 'UNDELIVERABLE' },
      // The recipient has opted out; the text is empty or too long; the recipient is the sender.
      { is: ['21610', '21602', '21617', '21266'], outcome: 'refused' },
      // A sender or a country that our account there may not use, or a recipient that this sender does not reach.
      {
        is: ['21212', '21408', '21601', '21603', '21606', '21607', '21608', '21612', '21659', '21660'],
        outcome: 'refused',
        elsewhere: true,
      },
    ],
  },
  receipts: {
    ids: ['/MessageSid'],
    state: '/MessageStatus',
    states: {
      accepted: 'ACCEPTED',
      scheduled: 'ACCEPTED',
      queued: 'ACCEPTED',
      sending: 'ACCEPTED',
      sent: 'ACCEPTED',
      delivered: 'DELIVERED',
      read: 'DELIVERED',
      undelivered: 'UNDELIVERABLE',
      failed: 'REJECTED',
      canceled: 'DELETED',
    },
    code: '/ErrorCode',
    to: '/To',
    from: '/From',
  },
  inbound: {
    when: { at: '/SmsStatus', is: ['received'] },
    id: '/MessageSid',
    from: '/From',
    to: '/To',
    text: '/Body',
  },
  verify: {
    by: 'signature',
    name: 'X-Twilio-Signature',
    algorithm: 'hmac-sha1',
    encoding: 'base64',
    over: '{{url}}{{params}}',
    anyPort: true,
    key: 'apiKey',
  },
});
