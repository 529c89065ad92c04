import type { Case } from './case.ts';
import { campaignOf, type Party } from './things.ts';

const PG = '/api/partner-gateway/v1';
const NUMBER = '+393331234567';

/** Case of requests that name nothing: the content of the response and the effects of the request are checked. */
const NO_IDS: Case = {};

const senderOf = ({ token }: Party): string => token.toUpperCase();

/** Cases for the routes of campaigns. */
export const CAMPAIGN_CASES: Readonly<Record<string, Case>> = {
  [`GET ${PG}/campaigns`]: NO_IDS,
  [`POST ${PG}/campaigns`]: {
    ids: { 'body.contactListIds.0': 'contactList' },
    body: (party) => ({ ...campaignOf(party), destinations: [] }),
  },
  [`POST ${PG}/campaigns/preview`]: {
    ids: {
      'body.contactIds.0': 'contact',
      'body.contactListIds.0': 'contactList',
      'body.rcsAgentId': 'rcsAgent',
      'body.rcsTemplateId': 'rcsTemplate',
      'body.whatsappPhoneNumberId': 'phoneNumber',
      'body.whatsappTemplateId': 'whatsappTemplate',
    },
    body: ({ token }) => ({ sendingMode: 'WHATSAPP_RCS_SMS', smsSender: 'ACME', smsBody: `{{fullName}} of ${token}` }),
  },
  [`POST ${PG}/campaigns/preview/review`]: {
    ids: {
      'body.contactListIds.0': 'contactList',
      'body.rcsAgentId': 'rcsAgent',
      'body.rcsTemplateId': 'rcsTemplate',
      'body.whatsappPhoneNumberId': 'phoneNumber',
      'body.whatsappTemplateId': 'whatsappTemplate',
    },
    body: ({ token }) => ({ sendingMode: 'WHATSAPP_RCS_SMS', smsSender: 'ACME', smsBody: `{{fullName}} of ${token}` }),
  },
  [`POST ${PG}/campaigns/preview/send`]: {
    ids: { 'body.contactId': 'contact' },
    body: (party) => ({
      sendingMode: 'SMS',
      smsSender: senderOf(party),
      smsBody: 'Hello {{fullName}}',
      phoneNumber: NUMBER,
    }),
  },
  [`GET ${PG}/campaign-drafts`]: { ids: { 'query.campaignId': 'campaign' } },
  [`GET ${PG}/campaign-drafts/:id`]: { ids: { 'path.id': 'campaignDraft' } },
  [`PUT ${PG}/campaign-drafts/:id`]: {
    ids: { 'path.id': 'campaignDraft' },
    body: ({ token }) => ({ version: 1, name: token, content: { smsBody: token } }),
    opaque: ['content'],
  },
  [`DELETE ${PG}/campaign-drafts/:id`]: { ids: { 'path.id': 'campaignDraft' } },
  [`GET ${PG}/contacts/placeholders`]: NO_IDS,
  [`GET ${PG}/campaigns/:id`]: { ids: { 'path.id': 'pricedCampaign' } },
  [`PUT ${PG}/campaigns/:id`]: {
    ids: { 'path.id': 'pricedCampaign', 'body.contactListIds.0': 'contactList' },
    body: ({ token }) => ({ name: token }),
  },
  [`DELETE ${PG}/campaigns/:id`]: { ids: { 'path.id': 'pricedCampaign' } },
  [`POST ${PG}/campaigns/:id/calculateGoal`]: { ids: { 'path.id': 'pricedCampaign' } },
  [`GET ${PG}/campaigns/:id/price`]: { ids: { 'path.id': 'pricedCampaign' } },
  [`PUT ${PG}/campaigns/:id/confirm`]: { ids: { 'path.id': 'pricedCampaign' } },
  [`PUT ${PG}/campaigns/:id/apply`]: {
    ids: { 'path.id': 'scheduledCampaign', 'body.contactListIds.0': 'testList' },
    body: ({ token }) => ({ name: token }),
  },
  [`POST ${PG}/campaigns/:id/again`]: {
    ids: { 'path.id': 'campaign' },
    body: ({ token }) => ({ name: token }),
    // There is no recipient that it did not reach.
    answers: [400],
  },
  [`PUT ${PG}/campaigns/:id/pause`]: { ids: { 'path.id': 'sendingCampaign' } },
  [`PUT ${PG}/campaigns/:id/resume`]: { ids: { 'path.id': 'sendingCampaign' } },
  [`PUT ${PG}/campaigns/:id/cancel`]: { ids: { 'path.id': 'sendingCampaign' } },
  [`GET ${PG}/campaigns/:id/recipients`]: { ids: { 'path.id': 'sendingCampaign' } },
  [`POST ${PG}/campaigns/:id/test`]: { ids: { 'path.id': 'pricedCampaign', 'body.contactListIds.0': 'testList' } },
  [`GET ${PG}/account/campaigns`]: NO_IDS,
  // A minute in which hardly any campaign of a proof runs.
  [`PUT ${PG}/account/campaigns`]: { body: () => ({ quietHours: { from: '03:00', to: '03:01' } }) },
  [`GET ${PG}/campaigns/stats`]: { query: () => ({ startDate: '2026-01-01', endDate: '2035-12-31' }) },
  [`GET ${PG}/campaigns/:id/funnel`]: { ids: { 'path.id': 'campaign' } },
  [`GET ${PG}/campaigns/:id/results`]: { ids: { 'path.id': 'campaign' } },
  [`GET ${PG}/campaigns/:id/stats`]: { ids: { 'path.id': 'campaign' } },
};
