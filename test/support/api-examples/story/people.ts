import { from, type Step, step } from '../step.ts';

const CSV = 'phoneNumber;firstName;city\n+61491570159;Linus;Hobart\n+46701740607;Astrid;Malmö\n0;Nobody;Nowhere\n';
const VCARD = 'BEGIN:VCARD\r\nVERSION:4.0\r\nFN:Greta Example\r\nTEL;TYPE=cell:+46701740608\r\nEND:VCARD\r\n';
const CONTACT = { id: from('createContact.id') };
const LIST = { id: from('createContactList.id') };
const FIELD = { id: from('createCustomField.id') };
const IMPORT = { id: from('uploadContacts.importId') };
const FILE = { id: from('sendContactFile.uploadId') };
const CAMPAIGN = { id: from('createCampaign.id') };
const FAILING = { id: from('failing.id') };
const LATER = { id: from('later.id') };
const DRAFT = { id: '0f8fad5b-d9cb-469f-a165-70867728950e' };
const SLOW = { id: from('slow.id') };

/** Contacts, lists and campaigns. */
export const PEOPLE: readonly Step[] = [
  step('findContactLimits'),
  step('listCustomFields'),
  step('createCustomField'),
  step('changeCustomField', { path: FIELD }),
  step('deleteCustomField', { path: FIELD }),
  step('createContact'),
  step('findContact', { path: CONTACT }),
  step('changeContact', { path: CONTACT }),
  step('listOptOutsOfContact', { path: CONTACT }),
  step('putConsents'),
  step('findConsents', { query: { to: '+393331234567' } }),
  step('importOptOuts'),
  step('listOptOuts', { query: { limit: 1 } }),
  step('getConsentSettings'),
  step('putConsentSettings', { as: 'user' }),
  step('askForOptIn'),
  step('findOptIn', { path: { optInId: from('askForOptIn.optInId') } }),
  step('showConsentPage', {
    path: { token: 'unknown' },
    as: 'anonymous',
    status: 404,
    because: 'the link is in a message',
  }),
  step('answerConsentPage', {
    path: { token: 'unknown' },
    query: { answer: 'yes' },
    as: 'anonymous',
    status: 404,
    because: 'the link is in a message',
  }),
  step('listSuspectedOptOuts'),
  step('decideSuspectedOptOut', {
    path: { messageId: '0f8fad5b-d9cb-469f-a165-70867728950f' },
    status: 404,
    because: 'no message of a fresh start asks for no more messages',
  }),
  step('putConsents', {
    name: 'forgotten',
    body: {
      consents: ['+393331234567', '+393331234568'].map((to) => ({ to, channel: '*', purpose: '*', state: 'UNKNOWN' })),
    },
  }),
  step('listContacts', { query: { search: 'example', limit: 1 } }),
  step('createContactList'),
  step('findContactList', { path: LIST }),
  step('changeContactList', { path: LIST }),
  step('listContactLists', { query: { limit: 2 } }),
  step('erasePerson', { as: 'user' }),
  step('findErasure', { path: { erasureId: from('erasePerson.erasureId') }, as: 'user', until: { state: ['DONE'] } }),
  step('exportOptOuts'),
  step('exportPerson', { as: 'user' }),
  step('getRetention', { as: 'user' }),
  step('putRetention', { as: 'user' }),
  step('addContactsToLists'),
  step('listContactsOfList', { path: { listId: 1 }, query: { limit: 1 } }),
  step('deleteContactAssociation', { path: { id: from('addContactsToLists.ids.0') } }),
  step('removeContactsFromLists'),
  step('addContactsToLists', { name: 'again', body: { listIds: [1, 2] } }),
  step('readUploadColumns', { form: { content: CSV, fileName: 'people.csv' } }),
  step('uploadContacts', { form: { fields: { listId: 1 }, content: CSV, fileName: 'people.csv' } }),
  step('uploadVcards', { form: { content: VCARD, fileName: 'people.vcf' } }),
  step('findContactImport', { path: IMPORT }),
  step('listContactImports', { query: { limit: 1 } }),
  step('listContactImportRows', { path: IMPORT, query: { limit: 1 } }),
  step('downloadContactImportRejects', { path: IMPORT }),
  step('sendContactFile', { form: { content: CSV, fileName: 'people.csv' } }),
  step('readContactUploadColumns', { path: FILE }),
  step('importContactUpload', { path: FILE }),
  step('findContactUpload', { path: FILE }),
  step('deleteContactUpload', { path: FILE }),

  step('listPlaceholders'),
  step('previewCampaign'),
  step('reviewCampaign'),
  step('sendCampaignToPhone'),
  step('saveCampaignDraft', { path: DRAFT }),
  step('listCampaignDrafts'),
  step('findCampaignDraft', { path: DRAFT }),
  step('deleteCampaignDraft', { path: DRAFT }),
  step('createCampaign'),
  step('calculateCampaignGoal', { path: CAMPAIGN }),
  step('findCampaignPrice', { path: CAMPAIGN }),
  step('testCampaign', { path: CAMPAIGN }),
  step('updateCampaign', { path: CAMPAIGN }),
  step('calculateCampaignGoal', { name: 'goal', path: CAMPAIGN }),
  step('confirmCampaign', { path: CAMPAIGN }),
  step('findCampaign', { path: CAMPAIGN, until: { status: [3] } }),
  step('listCampaignRecipients', { path: CAMPAIGN, query: { limit: 1 } }),
  step('statsOfCampaign', { path: CAMPAIGN, query: { aggregateOn: 'day' } }),
  step('funnelOfCampaign', { path: CAMPAIGN }),
  step('resultsOfCampaign', { path: CAMPAIGN }),
  step('listCampaigns', { query: { limit: 1 } }),
  step('campaignStats', { query: { startDate: '2026-11-01', endDate: '2027-10-31', aggregateOn: 'month' } }),
  step('createCampaign', {
    name: 'later',
    body: { name: 'Autumn sale', scheduledDate: '2027-10-01T09:00:00Z', readyToSend: true },
  }),
  step('calculateCampaignGoal', { name: 'later goal', path: LATER }),
  step('confirmCampaign', { name: 'later confirmed', path: LATER }),
  step('applyToCampaign', { path: LATER }),
  step('deleteCampaign', { name: 'later deleted', path: LATER }),
  // It reaches no recipient: for numbers that end in 9901, the sandbox sends a receipt of failure.
  step('createCampaign', {
    name: 'failing',
    body: { contactListIds: [], destinations: ['+393331239901'], readyToSend: true },
  }),
  step('calculateCampaignGoal', { name: 'failing goal', path: FAILING }),
  step('confirmCampaign', { name: 'failing start', path: FAILING }),
  step('findCampaign', { name: 'failing end', path: FAILING, until: { status: [3], totalFailed: [1] } }),
  step('repeatCampaign', { path: FAILING }),
  // One recipient a second: slow enough to be stopped.
  step('createCampaign', { name: 'slow', body: { name: 'Slow sale', rate: 1, readyToSend: true } }),
  step('calculateCampaignGoal', { name: 'slow goal', path: SLOW }),
  step('confirmCampaign', { name: 'slow start', path: SLOW }),
  step('pauseCampaign', { path: SLOW }),
  step('resumeCampaign', { path: SLOW }),
  step('cancelCampaign', { path: SLOW }),
  step('createCampaign', { name: 'draft' }),
  step('deleteCampaign', { path: { id: from('draft.id') } }),
  step('deleteContactLists', { query: { ids: from('createContactList.id') } }),
  step('deleteContacts', { query: { ids: from('createContact.id') } }),
  step('getCampaignPolicy'),
  step('putCampaignPolicy'),
];
