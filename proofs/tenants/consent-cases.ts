import type { Case } from './case.ts';
import { contactOf, numberAtRandom, type Party } from './things.ts';

const PG = '/api/partner-gateway/v1';

const consentOf = (party: Party) => ({ to: contactOf(party).phoneNumber, channel: 'RCS', purpose: 'service' });

/** The routes for consent, for the data of a person, and for how long data is kept. */
export const CONSENT_CASES: Readonly<Record<string, Case>> = {
  [`PUT ${PG}/consents`]: { body: (party) => ({ consents: [{ ...consentOf(party), state: 'OPTED_OUT' }] }) },
  [`GET ${PG}/consents`]: { query: (party) => ({ to: consentOf(party).to }) },
  [`GET ${PG}/opt-outs`]: {},
  [`POST ${PG}/opt-outs/import`]: { body: (party) => ({ to: [consentOf(party).to], purpose: 'marketing' }) },
  [`POST ${PG}/opt-ins`]: {
    body: ({ token }) => ({ to: numberAtRandom(), mode: 'keyword', text: token }),
  },
  [`GET ${PG}/opt-ins/:optInId`]: { ids: { 'path.optInId': 'optIn' } },
  [`GET ${PG}/consents/suspected`]: {},
  [`POST ${PG}/consents/suspected/:messageId`]: {
    ids: { 'path.messageId': 'suspectedOptOut' },
    body: () => ({ decision: 'DISMISS' }),
  },
  [`POST ${PG}/privacy/erasures`]: { ids: { 'body.contactId': 'contact' }, body: () => ({ dryRun: true }) },
  [`GET ${PG}/privacy/erasures/:erasureId`]: { ids: { 'path.erasureId': 'erasure' } },
  [`POST ${PG}/exports/opt-outs`]: { body: () => ({}) },
  [`POST ${PG}/privacy/exports`]: { ids: { 'body.contactId': 'contact' }, body: () => ({}) },
  // It waits.
  [`DELETE ${PG}/messages/:messageId/content`]: { ids: { 'path.messageId': 'message' }, answers: [409] },
  [`GET ${PG}/account/retention`]: {},
  [`PUT ${PG}/account/retention`]: { body: () => ({ mediaDays: 30 }) },
  [`GET ${PG}/consent/settings`]: {},
  [`PUT ${PG}/consent/settings`]: { body: ({ token }) => ({ words: [{ says: 'HELP', word: token, language: '*' }] }) },
};
