import { randomUUID } from 'node:crypto';
import { type Party, type ThingName, webhookOf } from './things.ts';

/**
 * How one route is tried. A route of the router without a case here turns the proof red: add what a right request holds,
 * and each field of it that names a thing.
 */
export type Case = {
  /**
   * The fields that name things, by where they stand: `path.id`, `query.userId`, `body.messages.0.ids.0`, `header.idempotency-key`. A query that
   * takes a list with commas has `[]` behind its name. Every field is tried alone, the others holding own things.
   */
  readonly ids?: Readonly<Record<string, ThingName>>;
  /** What a right request has besides. */
  readonly query?: (party: Party) => Readonly<Record<string, string>>;
  readonly body?: (party: Party) => object;
  /** What a right request is answered with, where that is not 2xx for whoever asks. */
  readonly answers?: readonly number[];
};

const PG = '/api/partner-gateway/v1';
const MS = '/api/message-server';
const NUMBER = '+393331234567';

/** Nothing in the request names a thing: it is tried for what its answer shows and what it changes. */
const NO_IDS: Case = {};

const senderOf = ({ token }: Party): string => token.toUpperCase();
const bulkOf = (party: Party) => ({
  messages: [{ destinations: [NUMBER], sender: senderOf(party), body: `Bulk of ${party.token}` }],
});

const statusWebhookOf = (party: Party) => ({ url: webhookOf(party).callbackUrl });

/** Every route that asks for credentials, by method and URL. */
export const CASES: Readonly<Record<string, Case>> = {
  [`POST ${PG}/authentication`]: {
    ids: { 'header.idempotency-key': 'idempotencyKey' },
    body: ({ token }) => ({ name: token }),
    answers: [409],
  },
  [`GET ${PG}/authentication`]: { ids: { 'query.userId': 'user' } },
  [`GET ${PG}/authentication/:value`]: { ids: { 'path.value': 'keyValue' } },
  [`POST ${PG}/authentication/:id/rotate`]: { ids: { 'path.id': 'key' } },
  [`DELETE ${PG}/authentication/:id`]: { ids: { 'path.id': 'key' } },

  [`POST ${MS}/sms/send`]: {
    ids: { 'body.customerMessageId': 'reusedClientId' },
    body: ({ token }) => ({ phoneNumber: NUMBER, message: `Another of ${token}` }),
    answers: [409],
  },
  'POST /services/sms/send': {
    ids: { 'body.globalId': 'globalId', 'body.messages.0.ids.0': 'reusedClientId' },
    body: (party) => ({ ...bulkOf(party), simulation: true }),
    answers: [409],
  },
  [`DELETE ${PG}/messages/:messageId`]: { ids: { 'path.messageId': 'message' } },
  [`GET ${PG}/messages/status/:customerMessageId`]: { ids: { 'path.customerMessageId': 'clientId' } },
  [`GET ${PG}/messages/status`]: { ids: { 'query.ids[]': 'message', 'query.customerMessageIds[]': 'clientId' } },
  [`GET /api/messages/status/:customerMessageId`]: { ids: { 'path.customerMessageId': 'message' } },
  [`GET ${PG}/messages/:messageId/timeline`]: { ids: { 'path.messageId': 'message' } },

  [`POST ${PG}/webhooks/delivery-status`]: { body: webhookOf },
  [`GET ${PG}/webhooks/delivery-status`]: NO_IDS,
  [`PUT ${PG}/webhooks/delivery-status`]: { body: webhookOf },
  [`POST ${PG}/webhooks/delivery-status/secret`]: NO_IDS,
  [`POST ${PG}/webhooks/delivery-status/test`]: NO_IDS,
  [`DELETE ${PG}/webhooks/delivery-status`]: NO_IDS,
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
  // A key has no password.
  [`PUT ${PG}/users/me/password`]: {
    body: () => ({ currentPassword: 'x', newPassword: randomUUID() }),
    answers: [403],
  },
  [`GET ${PG}/audit`]: NO_IDS,
  [`GET ${PG}/account/security`]: NO_IDS,
  [`PUT ${PG}/account/security`]: { body: () => ({ ipAllowList: ['127.0.0.0/8'], enforced: false }) },
  'GET /services/sms/credit': NO_IDS,
  [`GET ${PG}/subscription/credit`]: NO_IDS,
};
