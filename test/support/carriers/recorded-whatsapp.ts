import { expect } from 'vitest';

/**
 * Responses and callbacks of the real WhatsApp network, as public pages show them. `source` is where each was published:
 * pages of developers.facebook.com/documentation/business-messaging/whatsapp (META), or a thread on GitHub.
 */
const META = 'developers.facebook.com/documentation/business-messaging/whatsapp';

/** A response to a message, and what has to become of the message. */
export type RecordedAnswer = {
  readonly title: string;
  readonly source: string;
  readonly status: number;
  readonly body: object;
  readonly outcome: object;
};

const error = (more: object): object => ({ error: { type: 'OAuthException', fbtrace_id: 'A', ...more } });
const data = (details: string): object => ({ error_data: { messaging_product: 'whatsapp', details } });

/** Responses to `POST /{phone number id}/messages`. */
export const ANSWERS: readonly RecordedAnswer[] = [
  {
    title: 'an accepted message',
    source: `${META}, reference of POST /{phone number id}/messages, example response`,
    status: 200,
    body: {
      messaging_product: 'whatsapp',
      contacts: [{ input: '+16505551234', wa_id: '16505551234' }],
      messages: [{ id: 'wamid.HBgLMTY1MDM4Nzk0MzkVAgARGBJCOTY3NDc0NDFDRUI3NTA0Q0UA' }],
    },
    outcome: { kind: 'accepted', carrierIds: ['wamid.HBgLMTY1MDM4Nzk0MzkVAgARGBJCOTY3NDc0NDFDRUI3NTA0Q0UA'] },
  },
  {
    title: 'the throughput of the number is reached',
    source: `${META}/support/error-codes, example response`,
    status: 400,
    body: error({
      message: '(#130429) Rate limit hit',
      code: 130429,
      ...data('Cloud API message throughput has been reached.'),
      error_subcode: 2494055,
    }),
    outcome: { kind: 'retry', counts: false, code: '130429' },
  },
  {
    title: 'too many messages to one person',
    source: 'docs.ycloud.com/reference-link/whatsapp-errors',
    status: 429,
    body: error({
      message: '(#131056) (Business Account, Consumer Account) pair rate limit hit',
      code: 131056,
      ...data(
        'Message failed to send because there were too many messages sent from this phone number to the same phone number',
      ),
    }),
    outcome: { kind: 'retry', counts: false, code: '131056' },
  },
  {
    title: 'the test number may not write to this person',
    source: 'Neurotech-HQ/heyoo#94',
    status: 400,
    body: error({
      message: '(#131030) Recipient phone number not in allowed list',
      code: 131030,
      ...data(
        'Recipient phone number not in allowed list: Add recipient phone number to recipient list and try again.',
      ),
    }),
    outcome: { kind: 'refused', status: 'ERROR', elsewhere: false, code: '131030' },
  },
  {
    title: 'the template does not exist in this language',
    source: 'tawn33y/whatsapp-cloud-api#57',
    status: 404,
    body: error({
      message: '(#132001) Template name does not exist in the translation',
      code: 132001,
      ...data('template name (cg_quest_text) does not exist in en_US'),
    }),
    outcome: { kind: 'refused', status: 'ERROR', elsewhere: false, code: '132001' },
  },
  {
    title: 'a message that is no marketing template, at the marketing endpoint',
    source: `${META}/support/error-codes, Marketing Messages API`,
    status: 400,
    body: error({ message: '(#100) Invalid parameter', code: 100, ...data('Message must be a template message.') }),
    outcome: { kind: 'refused', status: 'ERROR', elsewhere: false, code: '100' },
  },
  {
    title: 'the token has expired',
    source: 'staciax/valorant-discord-bot#105 (Graph API)',
    status: 401,
    body: error({
      message:
        'Error validating access token: Session has expired on Monday, 19-Jun-23 06:29:46 PDT. ' +
        'The current time is Tuesday, 04-Jul-23 02:11:32 PDT.',
      code: 190,
      error_subcode: 463,
    }),
    outcome: { kind: 'retry', counts: false, code: '190' },
  },
  {
    title: 'the app requires the app secret, and the call has no proof',
    source: 'Yoctol/bottender#271, facebookarchive/php-graph-sdk#984 (Require App Secret)',
    status: 400,
    body: error({
      message: 'API calls from the server require an appsecret_proof argument',
      type: 'GraphMethodException',
      code: 100,
    }),
    outcome: { kind: 'retry', counts: false, code: '100' },
  },
  {
    title: 'the proof is that of another app',
    source: 'facebook/facebook-python-business-sdk#528, node-facebook/facebook-node-sdk#111',
    status: 400,
    body: error({
      message: 'Invalid appsecret_proof provided in the API argument',
      type: 'GraphMethodException',
      code: 100,
    }),
    outcome: { kind: 'retry', counts: false, code: '100' },
  },
  {
    title: 'the token cannot see the number',
    source: 'sajuthankappan/whatsapp-cloud-api-rs#3',
    status: 400,
    body: error({
      message:
        "Unsupported post request. Object with ID 'XXXXX' does not exist, cannot be loaded due to missing permissions, or " +
        'does not support this operation. Please read the Graph API documentation at ' +
        'https://developers.facebook.com/docs/graph-api',
      type: 'GraphMethodException',
      code: 100,
      error_subcode: 33,
    }),
    outcome: { kind: 'retry', counts: true, code: '100' },
  },
];

/** A change in a callback, and what has to be read from it. */
export type RecordedChange = {
  readonly source: string;
  readonly field: string;
  readonly value: object;
  readonly read: object;
};

/** Changes of the business account 102290129340398. */
export const CHANGES: readonly RecordedChange[] = [
  {
    source: `${META}/webhooks/reference/message_template_status_update`,
    field: 'message_template_status_update',
    value: {
      event: 'APPROVED',
      message_template_id: 1_689_556_908_129_832,
      message_template_name: 'order_confirmation',
      message_template_language: 'en-US',
      reason: 'NONE',
      message_template_category: 'UTILITY',
    },
    read: { templateChanges: [{ templateId: '1689556908129832', status: 'APPROVED', reason: null, quality: null }] },
  },
  {
    source: `${META}/webhooks/reference/message_template_status_update`,
    field: 'message_template_status_update',
    value: {
      event: 'REJECTED',
      message_template_id: 1_689_556_908_129_835,
      message_template_name: 'abandoned_cart',
      message_template_language: 'en',
      reason: 'INVALID_FORMAT',
      message_template_category: 'MARKETING',
      rejection_info: {
        reason:
          'Your template has parameters placed next to each other (like {{1}}{{2}}) without text or punctuation between them.',
        recommendation:
          'Separate parameters with descriptive text and ensure each parameter is clearly contextualized.',
      },
    },
    read: {
      templateChanges: [
        { templateId: '1689556908129835', status: 'REJECTED', reason: expect.stringMatching(/^INVALID_FORMAT · Your/) },
      ],
    },
  },
  {
    source: `${META}/webhooks/reference/message_template_quality_update`,
    field: 'message_template_quality_update',
    value: {
      previous_quality_score: 'GREEN',
      new_quality_score: 'YELLOW',
      message_template_id: 806_312_974_732_579,
      message_template_name: 'welcome_template',
      message_template_language: 'en-US',
    },
    read: { templateChanges: [{ templateId: '806312974732579', status: null, quality: 'YELLOW' }] },
  },
  {
    source: `${META}/webhooks/reference/phone_number_quality_update`,
    field: 'phone_number_quality_update',
    value: { display_phone_number: '15550783881', event: 'THROUGHPUT_UPGRADE', current_limit: 'TIER_UNLIMITED' },
    read: { notices: [{ text: expect.stringContaining('THROUGHPUT_UPGRADE') }] },
  },
];
