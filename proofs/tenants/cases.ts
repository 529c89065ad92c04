import { randomBytes, randomUUID } from 'node:crypto';
import type { Route } from '../lib/routes.ts';
import { CAMPAIGN_CASES } from './campaign-cases.ts';
import type { Case } from './case.ts';
import { CONSENT_CASES } from './consent-cases.ts';
import { HOOK_CASES } from './hook-cases.ts';
import { OPERATOR_CASES } from './operator-cases.ts';
import { contactOf, endpointOf, fieldOf, numberAtRandom, type Party, PICTURE, serviceOf, webhookOf } from './things.ts';

const PG = '/api/partner-gateway/v1';
const MS = '/api/message-server';
const NUMBER = '+393331234567';

/** Case of requests that name nothing: the content of the response and the effects of the request are checked. */
const NO_IDS: Case = {};

const ALL_TIME = { from: '2026-01-01T00:00:00Z', to: '2035-12-31T00:00:00Z' };
const SPAN = { startDateTime: ALL_TIME.from, endDateTime: ALL_TIME.to };

const senderOf = ({ token }: Party): string => token.toUpperCase();
const bulkOf = (party: Party) => ({
  messages: [{ destinations: [NUMBER], sender: senderOf(party), body: `Bulk of ${party.token}` }],
});

const statusWebhookOf = (party: Party) => ({ url: webhookOf(party).callbackUrl });

const tableOf = (party: Party) => {
  const { phoneNumber, fullName } = contactOf(party);
  return { file: `phoneNumber,fullName\n${phoneNumber},${fullName}\n` };
};
const vcardOf = (party: Party) => {
  const { phoneNumber, fullName } = contactOf(party);
  return { file: `BEGIN:VCARD\r\nVERSION:3.0\r\nFN:${fullName}\r\nTEL:${phoneNumber}\r\nEND:VCARD\r\n` };
};
/** The routes that need no credentials and know no account. */
const OPEN_ROUTES: ReadonlySet<string> = new Set([
  'GET /health/live',
  'GET /health/ready',
  'GET /metrics',
  'GET /openapi.json',
  'GET /docs',
  'GET /docs/init.js',
  'GET /docs/scalar.js',
  // The site of the documentation.
  'GET /help',
  'GET /help/*',
  // The console's files.
  'GET /assets/*',
  // By a signed link.
  `GET ${PG}/exports/:exportId/file`,
  // Signed by the carrier of a connection.
  'GET /c/:token',
  'POST /c/:token',
  'GET /api/callbacks/http/:connectionName',
  'POST /api/callbacks/http/:connectionName',
  'GET /api/callbacks/whatsapp/:connectionName',
  'POST /api/callbacks/whatsapp/:connectionName',
  'POST /api/callbacks/rcs/:connectionName',
  // By the state of a connection.
  'GET /oauth/:platform/callback',
  // By password.
  `POST ${PG}/session`,
  `POST ${PG}/session/second-factor`,
  `POST ${PG}/session/passkey-options`,
  `POST ${PG}/session/passkey`,
  `GET ${PG}/session/options`,
  // By the provider of an account, and by the state of a sign-in that a browser has begun: see mix-up.ts.
  `POST ${PG}/session/single-sign-on`,
  'GET /oauth/single-sign-on/callback/:token',
  // By the token of a link.
  `POST ${PG}/password-reset`,
  `POST ${PG}/password-reset/confirm`,
  `POST ${PG}/invitations/open`,
  `POST ${PG}/invitations/accept`,
]);

/** Every route that needs credentials, by method and URL. */
export const CASES: Readonly<Record<string, Case>> = {
  [`POST ${PG}/authentication`]: {
    ids: { 'header.idempotency-key': 'idempotencyKey' },
    body: ({ token }) => ({ name: token }),
  },
  [`GET ${PG}/authentication`]: { ids: { 'query.userId': 'user' } },
  [`GET ${PG}/authentication/:id`]: { ids: { 'path.id': 'keyValue' } },
  [`POST ${PG}/authentication/:id/rotate`]: { ids: { 'path.id': 'key' } },
  [`DELETE ${PG}/authentication/:id`]: { ids: { 'path.id': 'key' } },

  ...CONSENT_CASES,
  [`GET ${PG}/keyword-rules`]: {},
  [`POST ${PG}/keyword-rules`]: { body: ({ token }) => ({ keyword: `${token} ${randomUUID()}`, answer: token }) },
  [`PATCH ${PG}/keyword-rules/:id`]: { ids: { 'path.id': 'keywordRule' }, body: ({ token }) => ({ answer: token }) },
  [`DELETE ${PG}/keyword-rules/:id`]: { ids: { 'path.id': 'keywordRule' } },

  [`POST ${PG}/smpp/credentials`]: { body: ({ token }) => ({ name: token }) },
  [`GET ${PG}/smpp/credentials`]: {},
  [`PATCH ${PG}/smpp/credentials/:id`]: {
    ids: { 'path.id': 'smppCredential' },
    body: ({ token }) => ({ name: token }),
  },
  [`POST ${PG}/smpp/credentials/:id/rotate`]: { ids: { 'path.id': 'smppCredential' } },
  [`DELETE ${PG}/smpp/credentials/:id`]: { ids: { 'path.id': 'smppCredential' } },

  [`POST ${MS}/sms/send`]: {
    ids: { 'body.customerMessageId': 'reusedClientId' },
    body: ({ token }) => ({ phoneNumber: NUMBER, message: `Another of ${token}` }),
  },
  [`POST ${MS}/whatsapp/send`]: {
    ids: {
      'body.phoneNumberId': 'phoneNumber',
      'body.template.id': 'whatsappTemplate',
      'body.fallbackRcs.agentId': 'rcsAgent',
      'body.fallbackRcs.body.mediaId': 'media',
    },
    body: () => ({
      destination: NUMBER,
      simulation: true,
      fallbackRcs: { body: { type: 'FILE' } },
      fallbackSms: { body: 'Hello' },
    }),
  },
  [`POST ${MS}/rcs/send`]: {
    ids: { 'body.agentId': 'rcsAgent', 'body.templateId': 'rcsTemplate' },
    body: () => ({ destination: NUMBER, simulation: true }),
  },
  [`POST ${PG}/messages/preview`]: {
    ids: { 'body.sender': 'rcsAgent', 'body.templateId': 'rcsTemplate' },
    body: () => ({ channel: 'RCS', destination: NUMBER }),
  },
  [`GET ${MS}/whatsapp/phone-numbers`]: NO_IDS,
  [`GET ${MS}/rcs/agents`]: NO_IDS,
  [`POST ${MS}/rcs/agents`]: { body: ({ token }) => ({ displayName: token }) },
  [`GET ${MS}/whatsapp/templates`]: NO_IDS,
  [`POST ${MS}/whatsapp/templates`]: {
    ids: { 'body.phoneNumberId': 'phoneNumber' },
    body: ({ token }) => ({
      name: `${token}_${randomBytes(6).toString('hex')}`,
      language: 'en',
      category: 'UTILITY',
      components: [{ type: 'BODY', text: 'Hello' }],
    }),
    opaque: ['components'],
  },
  [`GET ${MS}/whatsapp/templates/:id`]: { ids: { 'path.id': 'whatsappTemplate' } },
  [`PATCH ${MS}/whatsapp/templates/:id`]: { ids: { 'path.id': 'whatsappTemplate' }, body: () => ({ variables: [] }) },
  [`DELETE ${MS}/whatsapp/templates/:id`]: { ids: { 'path.id': 'goneTemplate' } },
  [`GET ${MS}/rcs/templates`]: NO_IDS,
  [`POST ${MS}/rcs/templates`]: { body: ({ token }) => ({ name: token, body: { type: 'TEXT', text: token } }) },
  [`GET ${MS}/rcs/templates/:id`]: { ids: { 'path.id': 'rcsTemplate' } },
  [`DELETE ${MS}/rcs/templates/:id`]: { ids: { 'path.id': 'rcsTemplate' } },
  'POST /services/sms/send': {
    ids: { 'body.globalId': 'globalId', 'body.messages.0.ids.0': 'reusedClientId' },
    body: (party) => ({ ...bulkOf(party), simulation: true }),
  },
  [`DELETE ${PG}/messages/:messageId`]: { ids: { 'path.messageId': 'message' } },
  [`GET ${PG}/messages/scheduled`]: NO_IDS,
  [`GET ${PG}/messages/scheduled/:id`]: { ids: { 'path.id': 'message' } },
  [`PATCH ${PG}/messages/scheduled/:id`]: {
    ids: { 'path.id': 'message' },
    body: () => ({ scheduledDate: new Date(Date.now() + 2 * 86_400_000).toISOString() }),
  },
  [`DELETE ${PG}/messages/scheduled/:id`]: { ids: { 'path.id': 'message' } },
  [`GET ${PG}/messages/status/:customerMessageId`]: { ids: { 'path.customerMessageId': 'clientId' } },
  [`GET ${PG}/messages/status`]: { ids: { 'query.ids[]': 'message', 'query.customerMessageIds[]': 'clientId' } },
  [`GET /api/messages/status/:customerMessageId`]: { ids: { 'path.customerMessageId': 'message' } },
  [`GET ${PG}/whatsapp/messages/:messageId`]: { ids: { 'path.messageId': 'whatsappMessage' } },
  [`GET ${PG}/rcs/messages/:messageId`]: { ids: { 'path.messageId': 'rcsMessage' } },
  [`GET ${PG}/messages/:messageId/timeline`]: { ids: { 'path.messageId': 'message' } },
  // A client id of an SMS may also be in use by others, which the account itself has tried.
  [`GET ${PG}/messages/history`]: { query: () => ({ ...ALL_TIME, channel: 'RCS' }) },

  [`GET ${PG}/messages`]: { ids: { 'query.campaignId': 'campaign' }, query: () => ({ ...ALL_TIME, channel: 'RCS' }) },
  [`GET ${PG}/overview`]: NO_IDS,
  [`GET ${PG}/overview/period`]: { query: () => ({ startDate: '2026-01-01', endDate: '2026-12-31' }) },
  [`GET ${PG}/overview/first-steps`]: NO_IDS,
  [`GET ${PG}/search`]: { ids: { 'query.q': 'message' } },

  [`POST ${PG}/messages/history/export`]: { body: () => SPAN },
  [`POST ${PG}/exports/contacts`]: { ids: { 'body.contactIds.0': 'contact' } },
  [`POST ${PG}/exports/delivery-reports`]: { ids: { 'body.campaignId': 'campaign' } },
  [`GET ${PG}/exports`]: NO_IDS,
  [`GET ${PG}/exports/:exportId`]: { ids: { 'path.exportId': 'export' } },
  [`POST ${PG}/exports/:exportId`]: { ids: { 'path.exportId': 'export' } },
  [`DELETE ${PG}/exports/:exportId`]: { ids: { 'path.exportId': 'export' } },

  ...CAMPAIGN_CASES,

  [`GET ${PG}/contacts/list`]: { ids: { 'query.id[]': 'contactList', 'query.contactIds[]': 'contact' } },
  [`POST ${PG}/contacts/list`]: { body: ({ token }) => ({ name: token }) },
  [`DELETE ${PG}/contacts/list`]: { ids: { 'query.ids': 'contactList' } },
  [`GET ${PG}/contacts/list/:id`]: { ids: { 'path.id': 'contactList' } },
  [`PUT ${PG}/contacts/list/:id`]: { ids: { 'path.id': 'contactList' }, body: ({ token }) => ({ name: token }) },
  [`POST ${PG}/contacts/list/contacts`]: {
    ids: { 'body.listIds.0': 'contactList', 'body.contactIds.0': 'contact' },
  },
  [`DELETE ${PG}/contacts/list/contacts`]: {
    ids: { 'body.listIds.0': 'contactList', 'body.contactIds.0': 'contact' },
  },
  [`DELETE ${PG}/contacts/list/contacts/:id`]: { ids: { 'path.id': 'association' } },
  [`GET ${PG}/contacts`]: {
    ids: {
      'query.listIds[]': 'contactList',
      'query.notListIds[]': 'contactList',
      'query.contactIds[]': 'contact',
      'query.sortPriorityListId': 'contactList',
    },
  },
  [`GET ${PG}/contacts/list/:listId/contacts`]: {
    ids: {
      'path.listId': 'contactList',
      'query.notListIds[]': 'contactList',
      'query.contactIds[]': 'contact',
      'query.sortPriorityListId': 'contactList',
    },
  },
  [`POST ${PG}/contacts`]: { body: contactOf },
  [`DELETE ${PG}/contacts`]: { ids: { 'query.ids': 'contact' } },
  [`GET ${PG}/contacts/:id`]: { ids: { 'path.id': 'contact' } },
  [`PUT ${PG}/contacts/:id`]: { ids: { 'path.id': 'contact' }, body: ({ token }) => ({ fullName: token }) },
  [`GET ${PG}/contacts/:id/opt-outs`]: { ids: { 'path.id': 'contact' } },
  [`GET ${PG}/contacts/fields`]: NO_IDS,
  [`POST ${PG}/contacts/fields`]: { body: (party) => ({ name: fieldOf(party), type: 'text' }) },
  [`PUT ${PG}/contacts/fields/:id`]: { ids: { 'path.id': 'customField' }, body: () => ({ description: 'Another' }) },
  [`DELETE ${PG}/contacts/fields/:id`]: { ids: { 'path.id': 'customField' } },
  [`GET ${PG}/subscription/contacts`]: NO_IDS,
  [`POST ${PG}/contacts/upload`]: { ids: { 'body.listId': 'contactList' }, body: tableOf, form: 'contacts.csv' },
  [`POST ${PG}/contacts/upload/columns`]: { body: tableOf, form: 'contacts.csv' },
  [`POST ${PG}/contacts/upload/vcard`]: { ids: { 'body.listId': 'contactList' }, body: vcardOf, form: 'contacts.vcf' },
  [`GET ${PG}/contacts/imports`]: NO_IDS,
  [`GET ${PG}/contacts/imports/:id`]: { ids: { 'path.id': 'contactImport' } },
  [`GET ${PG}/contacts/imports/:id/rejects`]: { ids: { 'path.id': 'contactImport' } },
  [`GET ${PG}/contacts/imports/:id/rows`]: { ids: { 'path.id': 'contactImport' } },
  [`POST ${PG}/contacts/uploads`]: { body: tableOf, form: 'contacts.csv' },
  [`GET ${PG}/contacts/uploads/:id`]: { ids: { 'path.id': 'contactUpload' } },
  [`POST ${PG}/contacts/uploads/:id/columns`]: { ids: { 'path.id': 'contactUpload' }, body: () => ({}) },
  [`POST ${PG}/contacts/uploads/:id/import`]: {
    ids: { 'path.id': 'contactUpload', 'body.listId': 'contactList' },
    body: () => ({ dryRun: true }),
  },
  [`DELETE ${PG}/contacts/uploads/:id`]: { ids: { 'path.id': 'contactUpload' } },

  [`GET ${PG}/inbox/conversations`]: NO_IDS,
  [`GET ${PG}/inbox/conversations/stream`]: NO_IDS,
  [`GET ${PG}/inbox/conversations/assignable-users`]: NO_IDS,
  [`GET ${PG}/inbox/conversations/:chatId`]: { ids: { 'path.chatId': 'conversation' } },
  [`GET ${PG}/inbox/conversations/:chatId/messages`]: { ids: { 'path.chatId': 'conversation' } },
  // The contact has no number, so nothing is sent.
  [`POST ${PG}/inbox/conversations/reply`]: {
    ids: { 'body.chatId': 'conversation' },
    body: ({ token }) => ({ text: token }),
    answers: [400],
  },
  [`PATCH ${PG}/inbox/conversations/:chatId/read`]: { ids: { 'path.chatId': 'conversation' } },
  [`PATCH ${PG}/inbox/conversations/:chatId/archive`]: { ids: { 'path.chatId': 'conversation' } },
  [`PATCH ${PG}/inbox/conversations/:chatId/unarchive`]: { ids: { 'path.chatId': 'conversation' } },
  [`POST ${PG}/inbox/conversations/:chatId/assignee`]: {
    ids: { 'path.chatId': 'conversation', 'body.userId': 'user' },
  },
  [`DELETE ${PG}/inbox/conversations/:chatId/assignee`]: { ids: { 'path.chatId': 'conversation' } },

  [`PATCH ${PG}/inbox/conversations/:chatId/unread`]: { ids: { 'path.chatId': 'conversation' } },
  // Its last message came by SMS, which has neither.
  [`POST ${PG}/inbox/conversations/:chatId/read`]: { ids: { 'path.chatId': 'conversation' }, answers: [400] },
  [`POST ${PG}/inbox/conversations/:chatId/typing`]: { ids: { 'path.chatId': 'conversation' }, answers: [400] },
  [`PUT ${PG}/inbox/conversations/:chatId/snooze`]: {
    ids: { 'path.chatId': 'conversation' },
    body: () => ({ until: new Date(Date.now() + 3_600_000).toISOString() }),
  },
  [`PUT ${PG}/inbox/conversations/:chatId/presence`]: {
    ids: { 'path.chatId': 'conversation' },
    body: () => ({ activity: 'LOOKING' }),
  },
  [`GET ${PG}/inbox/conversations/:chatId/notes`]: { ids: { 'path.chatId': 'conversation' } },
  [`POST ${PG}/inbox/conversations/:chatId/notes`]: {
    ids: { 'path.chatId': 'conversation' },
    body: ({ token }) => ({ text: token }),
  },
  [`DELETE ${PG}/inbox/conversations/:chatId/notes/:id`]: {
    ids: { 'path.chatId': 'conversation', 'path.id': 'inboxNote' },
  },
  [`PUT ${PG}/inbox/conversations/:chatId/labels`]: {
    ids: { 'path.chatId': 'conversation' },
    body: () => ({ labelIds: [] }),
  },
  [`GET ${PG}/inbox/messages`]: { query: ({ token }) => ({ search: token }) },
  [`GET ${PG}/inbox/labels`]: NO_IDS,
  [`POST ${PG}/inbox/labels`]: { body: () => ({ name: randomUUID(), color: 'blue' }) },
  [`PATCH ${PG}/inbox/labels/:id`]: { ids: { 'path.id': 'inboxLabel' }, body: () => ({ color: 'red' }) },
  [`DELETE ${PG}/inbox/labels/:id`]: { ids: { 'path.id': 'inboxLabel' } },
  [`GET ${PG}/inbox/canned-answers`]: NO_IDS,
  [`POST ${PG}/inbox/canned-answers`]: { body: ({ token }) => ({ shortcut: randomUUID(), text: token }) },
  [`PATCH ${PG}/inbox/canned-answers/:id`]: {
    ids: { 'path.id': 'cannedAnswer' },
    body: ({ token }) => ({ text: token }),
  },
  [`DELETE ${PG}/inbox/canned-answers/:id`]: { ids: { 'path.id': 'cannedAnswer' } },
  [`GET ${PG}/inbox/settings`]: NO_IDS,
  [`PUT ${PG}/inbox/settings`]: {
    body: ({ token }) => ({
      assignment: 'MANUAL',
      closedAnswer: token,
      timeZone: 'UTC',
      openHours: [{ weekday: 1, from: 0, to: 1440 }],
    }),
  },
  [`GET ${PG}/inbox/availability`]: NO_IDS,
  // Keys are not available: only users are.
  [`PUT ${PG}/inbox/availability`]: { body: () => ({ available: true }), answers: [403] },

  [`POST ${PG}/verify/services`]: { body: serviceOf },
  [`GET ${PG}/verify/services`]: NO_IDS,
  [`GET ${PG}/verify/services/:id`]: { ids: { 'path.id': 'verifyService' } },
  [`PATCH ${PG}/verify/services/:id`]: { ids: { 'path.id': 'verifyService' }, body: () => ({ brand: 'x' }) },
  [`PUT ${PG}/verify/services/:id/hook-secret`]: {
    ids: { 'path.id': 'verifyService' },
    body: ({ token }) => ({ secret: `secret of ${token}` }),
  },
  [`DELETE ${PG}/verify/services/:id`]: { ids: { 'path.id': 'verifyService' } },
  [`GET ${PG}/verify/guard/decisions`]: NO_IDS,
  [`GET ${PG}/verify/guard/ranges`]: NO_IDS,
  [`POST ${PG}/verify/guard/ranges/:prefix/release`]: { ids: { 'path.prefix': 'verifyRange' } },
  [`POST ${PG}/verify/guard/ranges/:prefix/block`]: { ids: { 'path.prefix': 'verifyRange' } },
  [`POST ${PG}/verify/guard/replay`]: { body: () => ({ guard: { mode: 'strict' } }) },
  [`GET ${PG}/verify/stats`]: NO_IDS,
  [`POST ${PG}/verifications`]: {
    ids: { 'body.serviceId': 'verifyService' },
    body: () => ({ to: numberAtRandom() }),
  },
  [`POST ${PG}/verifications/check`]: {
    ids: { 'body.serviceId': 'verifyService' },
    body: () => ({ to: NUMBER, code: '123456' }),
    answers: [404],
  },
  [`POST ${PG}/verifications/:id/check`]: { ids: { 'path.id': 'verification' }, body: () => ({ code: '123456' }) },
  [`POST ${PG}/verifications/:id/resend`]: { ids: { 'path.id': 'verification' }, body: () => ({}), answers: [429] },
  [`GET ${PG}/verifications/:id`]: { ids: { 'path.id': 'verification' } },
  [`DELETE ${PG}/verifications/:id`]: { ids: { 'path.id': 'verification' } },
  [`POST ${PG}/verifications/:id/feedback`]: {
    ids: { 'path.id': 'verification' },
    body: () => ({ outcome: 'converted' }),
  },
  [`POST ${PG}/messages/:messageId/feedback`]: {
    ids: { 'path.messageId': 'message' },
    body: () => ({ outcome: 'converted' }),
    // The own one was not sent with the address of its user.
    answers: [404],
  },

  [`POST ${PG}/webhooks/delivery-status`]: { body: webhookOf },
  [`GET ${PG}/webhooks/delivery-status`]: NO_IDS,
  [`PUT ${PG}/webhooks/delivery-status`]: { body: webhookOf },
  [`POST ${PG}/webhooks/delivery-status/secret`]: NO_IDS,
  [`POST ${PG}/webhooks/delivery-status/test`]: NO_IDS,
  [`DELETE ${PG}/webhooks/delivery-status`]: NO_IDS,
  [`GET ${PG}/webhooks/delivery-status/deliveries`]: NO_IDS,
  [`GET ${PG}/webhooks/delivery-status/deliveries/:id`]: { ids: { 'path.id': 'webhookEvent' } },
  [`POST ${PG}/webhooks/delivery-status/deliveries/:id/replay`]: { ids: { 'path.id': 'webhookEvent' } },
  [`POST ${PG}/webhooks/delivery-status/replay`]: { body: () => ({ since: '2026-01-01T00:00:00Z' }) },
  [`GET ${PG}/webhooks/event-types`]: NO_IDS,
  [`POST ${PG}/webhooks/endpoints`]: { body: endpointOf },
  [`GET ${PG}/webhooks/endpoints`]: NO_IDS,
  [`GET ${PG}/event-feed`]: NO_IDS,
  [`GET ${PG}/event-feed/settings`]: NO_IDS,
  [`PUT ${PG}/event-feed/settings`]: { body: () => ({ enabled: true }) },
  [`GET ${PG}/webhooks/endpoints/:id`]: { ids: { 'path.id': 'endpoint' } },
  [`PATCH ${PG}/webhooks/endpoints/:id`]: { ids: { 'path.id': 'endpoint' }, body: () => ({ name: 'x' }) },
  [`POST ${PG}/webhooks/endpoints/:id/secret`]: { ids: { 'path.id': 'endpoint' } },
  [`POST ${PG}/webhooks/endpoints/:id/test`]: { ids: { 'path.id': 'endpoint' } },
  // It is active.
  [`POST ${PG}/webhooks/endpoints/:id/enable`]: { ids: { 'path.id': 'endpoint' }, answers: [409] },
  [`DELETE ${PG}/webhooks/endpoints/:id`]: { ids: { 'path.id': 'endpoint' } },
  [`GET ${PG}/webhooks/endpoints/:endpoint/deliveries`]: { ids: { 'path.endpoint': 'endpoint' } },
  [`GET ${PG}/webhooks/endpoints/:endpoint/deliveries/:id`]: {
    ids: { 'path.endpoint': 'endpoint', 'path.id': 'endpointEvent' },
  },
  [`POST ${PG}/webhooks/endpoints/:endpoint/deliveries/:id/replay`]: {
    ids: { 'path.endpoint': 'endpoint', 'path.id': 'endpointEvent' },
  },
  [`POST ${PG}/webhooks/endpoints/:endpoint/replay`]: {
    ids: { 'path.endpoint': 'endpoint' },
    body: () => ({ since: '2026-01-01T00:00:00Z' }),
  },
  'POST /api/webhooks/delivery-status': { body: statusWebhookOf },
  'GET /api/webhooks/delivery-status': NO_IDS,
  'PUT /api/webhooks/delivery-status': { body: statusWebhookOf },
  'DELETE /api/webhooks/delivery-status': NO_IDS,

  [`GET ${PG}/users`]: NO_IDS,
  [`POST ${PG}/users`]: {
    body: ({ token }) => ({ username: `${token}-${randomUUID()}`, password: randomUUID(), role: 'viewer' }),
  },
  [`GET ${PG}/users/:id`]: { ids: { 'path.id': 'user' } },
  [`PUT ${PG}/users/:id`]: { ids: { 'path.id': 'user' }, body: () => ({ role: 'viewer' }) },
  [`DELETE ${PG}/users/:id`]: { ids: { 'path.id': 'user' } },
  // A key has no name and no password.
  [`PUT ${PG}/users/me/name`]: { body: () => ({ displayName: 'x' }), answers: [403] },
  [`PUT ${PG}/users/me/password`]: {
    body: () => ({ currentPassword: 'x', newPassword: randomUUID() }),
    answers: [403],
  },
  // Routes for people who are signed in; only operators can switch to another account.
  [`GET ${PG}/session`]: { answers: [403] },
  [`DELETE ${PG}/session`]: NO_IDS,
  [`PUT ${PG}/session/account`]: { body: () => ({ accountId: null }), answers: [403] },
  // A key is not a session and has no second factors.
  [`POST ${PG}/session/step-up`]: { body: () => ({ password: 'x' }), answers: [403] },
  [`POST ${PG}/session/step-up/passkey-options`]: { answers: [403] },
  [`POST ${PG}/session/step-up/single-sign-on`]: { answers: [403] },
  [`GET ${PG}/users/me/second-factors`]: { answers: [403] },
  [`POST ${PG}/users/me/second-factors/totp`]: { answers: [403] },
  [`POST ${PG}/users/me/second-factors/totp/confirm`]: { body: () => ({ code: '123456' }), answers: [403] },
  [`DELETE ${PG}/users/me/second-factors/totp`]: { answers: [403] },
  [`POST ${PG}/users/me/second-factors/passkeys/options`]: { answers: [403] },
  [`POST ${PG}/users/me/second-factors/passkeys`]: {
    body: ({ token }) => ({
      name: token,
      passkey: {
        id: 'AA',
        rawId: 'AA',
        type: 'public-key',
        response: { clientDataJSON: 'AA', attestationObject: 'AA' },
      },
    }),
    answers: [403],
  },
  [`DELETE ${PG}/users/me/second-factors/passkeys/:id`]: { ids: { 'path.id': 'passkey' }, answers: [403] },
  [`POST ${PG}/users/me/second-factors/recovery-codes`]: { answers: [403] },
  [`DELETE ${PG}/users/:id/second-factors`]: { ids: { 'path.id': 'user' } },
  [`DELETE ${PG}/sessions`]: { answers: [403] },
  [`GET ${PG}/sessions`]: { ids: { 'query.userId': 'user' } },
  [`DELETE ${PG}/sessions/:id`]: { ids: { 'path.id': 'session' } },
  [`POST ${PG}/media`]: { body: ({ token }) => ({ file: PICTURE, name: token }), form: 'a.gif' },
  [`GET ${PG}/media`]: NO_IDS,
  [`GET ${PG}/media/:id`]: { ids: { 'path.id': 'media' } },
  [`POST ${PG}/media/:id/revoke-links`]: { ids: { 'path.id': 'media' } },
  [`DELETE ${PG}/media/:id`]: { ids: { 'path.id': 'media' } },
  'GET /api/files/:mediaKey': { ids: { 'path.mediaKey': 'mediaKey' } },
  [`GET ${PG}/socials`]: NO_IDS,
  [`GET ${PG}/socials/:platform`]: { ids: { 'path.platform': 'socialProfile' } },
  [`GET ${PG}/socials/:platform/picture`]: { ids: { 'path.platform': 'socialProfile' } },
  [`POST ${PG}/socials/:platform/connect`]: { ids: { 'path.platform': 'socialNetwork' } },
  [`DELETE ${PG}/socials/:platform`]: { ids: { 'path.platform': 'socialProfile' } },
  [`GET ${PG}/audit`]: NO_IDS,
  [`GET ${PG}/invitations`]: NO_IDS,
  [`POST ${PG}/invitations`]: {
    body: ({ token }) => ({ email: `${token}-${randomUUID()}@example.com`, role: 'viewer' }),
  },
  [`POST ${PG}/invitations/:id/resend`]: { ids: { 'path.id': 'invitation' }, body: () => ({}) },
  [`DELETE ${PG}/invitations/:id`]: { ids: { 'path.id': 'invitation' } },
  [`GET ${PG}/account/single-sign-on`]: NO_IDS,
  [`PUT ${PG}/account/single-sign-on`]: {
    ids: { 'body.emergencyUserId': 'user' },
    body: ({ token }) => ({
      shortName: token,
      enabled: false,
      issuer: `https://${token}.example.com`,
      clientId: token,
      scopes: ['openid'],
      groupsClaim: null,
      groupRoles: [],
      defaultRole: 'viewer',
      emailDomains: [`${token}.example.com`],
      required: false,
      emergencyUserId: null,
    }),
    // The user is no admin.
    answers: [400],
  },
  [`DELETE ${PG}/account/single-sign-on`]: { answers: [404] },
  // The record is not there, or no name server responds.
  [`POST ${PG}/account/single-sign-on/domains/:domain/verify`]: {
    ids: { 'path.domain': 'mailDomain' },
    answers: [409, 502],
  },
  // The provider does not exist.
  [`POST ${PG}/account/single-sign-on/trial`]: { answers: [404, 502] },
  [`GET ${PG}/account/security`]: NO_IDS,
  [`PUT ${PG}/account/security`]: { body: () => ({ ipAllowList: ['127.0.0.0/8'], enforced: false }) },
  [`GET ${PG}/account/numbers`]: NO_IDS,
  [`PUT ${PG}/account/numbers`]: { body: () => ({ numberChecks: 'strict' }) },
  [`GET ${PG}/account/sending`]: NO_IDS,
  [`PUT ${PG}/account/sending`]: { body: () => ({ respectCalendar: true }) },
  'GET /services/sms/credit': NO_IDS,
  [`GET ${PG}/subscription`]: NO_IDS,
  [`GET ${PG}/subscription/credit`]: NO_IDS,
  [`GET ${PG}/credit/entries`]: NO_IDS,
  ...HOOK_CASES,
  ...OPERATOR_CASES,
};

/**
 * Returns the names of routes that have no case and are not known to need no credentials, and of cases without a route.
 */
export function compareCases(routes: readonly Route[]): { withoutCase: string[]; stale: string[] } {
  const isTried = ({ name, needsCredentials }: Route): boolean =>
    needsCredentials ? CASES[name] !== undefined : OPEN_ROUTES.has(name);
  const names = new Set(routes.map(({ name }) => name));
  return {
    withoutCase: routes.filter((route) => !isTried(route)).map(({ name }) => name),
    stale: Object.keys(CASES).filter((name) => !names.has(name)),
  };
}
