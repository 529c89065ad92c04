import { from, step as make, type Step } from '../step.ts';

const step = (operation: string, rest: Omit<Step, 'operation'> = {}): Step => make(operation, { as: 'user', ...rest });

const ACCOUNT = { id: from('operatorCreateAccount.accountId') };
const SMSC = { name: 'acme-smsc' };
const SENDER = { id: from('operatorAssignSender.id') };
const POOL = { id: from('operatorAddNumberPool.id') };
const TARGET = { id: from('operatorAddAlertTarget.id') };
const PAGE = { query: { limit: 1 } };
const NOTHING_MISSED = { path: { id: 1 }, status: 404, because: 'no message has missed its time' };

/** At an address that is never dialled, so that trying it asks nobody. */
const UNREACHABLE_LOOKUP = {
  preset: 'twilio',
  account: 'AC00000000000000000000000000000000',
  baseUrl: 'https://10.0.0.1',
  price: 0.008,
};

/** The gateway as a whole. */
export const OPERATOR: readonly Step[] = [
  step('operatorFindOverview'),
  step('operatorListAlerts', PAGE),
  step('operatorAcknowledgeAlert', { path: { id: 1 }, status: 404, because: 'nothing is the matter' }),
  step('operatorSetAlertRule', { path: { kind: 'low_credit' } }),
  step('operatorListAlertRules'),
  step('operatorAddAlertTarget'),
  step('operatorChangeAlertTarget', { path: TARGET }),
  step('operatorListAlertTargets'),
  step('operatorTestAlertTarget', { path: TARGET }),
  step('operatorDeleteAlertTarget', { path: TARGET }),
  step('operatorListAccounts', PAGE),
  step('operatorCreateAccount'),
  step('operatorFindAccount', { path: ACCOUNT }),
  step('operatorChangeAccount', { path: ACCOUNT }),
  step('operatorAddCredit', { path: ACCOUNT }),
  step('operatorListLedger', { path: ACCOUNT, ...PAGE }),
  step('operatorEnableWebhook', { path: ACCOUNT, status: 404, because: 'the account has no webhook' }),
  step('operatorListPrices', PAGE),
  step('operatorSetPrice'),
  step('operatorCheckPrice', { query: { channel: 'SMS', number: '+4236601234' } }),
  step('operatorExplainPrice', { query: { channel: 'SMS', number: '+4236601234' } }),
  step('operatorListBilling'),
  step('operatorDeletePrice', { path: { id: from('operatorSetPrice.id') } }),

  step('operatorListConnectionKinds'),
  step('operatorListConnections', PAGE),
  step('operatorTestSettings'),
  step('operatorAddConnection'),
  step('operatorFindConnection', { path: SMSC }),
  step('operatorTestConnection', { path: SMSC }),
  step('operatorChangeConnection', { path: SMSC }),
  step('operatorListConnectionMinutes', { path: { name: 'sandbox' } }),
  step('operatorSetUpConnection', { path: { name: 'sandbox-whatsapp' } }),
  step('operatorSyncTemplates', { path: { name: 'sandbox-whatsapp' } }),
  step('operatorSetCost'),
  step('operatorListCosts', PAGE),
  step('operatorDeleteCost', { path: { id: from('operatorSetCost.id') } }),
  step('operatorImportCosts'),
  step('operatorListMargins', { query: { by: 'country' } }),
  step('operatorListRoutesUnderCost'),
  step('operatorAddRoute'),
  step('operatorListRoutes', PAGE),
  step('operatorCheckRoute', { query: { number: '+4236601234' } }),
  step('operatorSetRoutePolicy'),
  step('operatorListRoutePolicies'),
  step('operatorExplainRoute', { query: { number: '+4236601234' } }),
  step('operatorDeleteRoutePolicy', { path: { id: from('operatorSetRoutePolicy.id') } }),
  step('operatorAddLookup', { body: { settings: UNREACHABLE_LOOKUP } }),
  step('operatorListLookups'),
  step('operatorTestLookup', { path: { name: 'twilio' } }),
  step('operatorDeleteLookup', { path: { name: 'twilio' } }),
  step('operatorDeleteRoute', { path: { id: from('operatorAddRoute.id') } }),
  step('operatorDeleteConnection', { path: SMSC }),

  step('operatorAssignSender'),
  step('operatorListSenders', PAGE),
  step('operatorDeleteSender', { path: SENDER }),
  step('operatorRegisterAgent', { path: { id: from('requestRcsAgent.id') } }),
  step('operatorAssignNumber'),
  step('operatorListNumbers', PAGE),
  step('operatorDeleteNumber', { query: { number: '+393399957020', connection: 'sandbox' } }),
  step('operatorListTemplates', PAGE),
  step('operatorAddNumberPool'),
  step('operatorAddPoolNumber', { path: POOL }),
  step('operatorListNumberPools'),
  step('operatorSetSenderRule'),
  step('operatorListSenderRules'),
  step('operatorDeleteSenderRule', { path: { id: from('operatorSetSenderRule.id') } }),
  step('operatorAddRegisteredSender'),
  step('operatorListRegisteredSenders'),
  step('operatorDeleteRegisteredSender', { path: { id: from('operatorAddRegisteredSender.id') } }),
  step('operatorDeletePoolNumber', { path: POOL, query: { number: '+12025550145' } }),
  step('operatorDeleteNumberPool', { path: POOL }),

  step('operatorFindQueues'),
  step('operatorListQueues', PAGE),
  step('operatorListBinds', PAGE),
  step('operatorFindDeliveries'),
  step('operatorListMissed', PAGE),
  step('operatorReleaseMissed', NOTHING_MISSED),
  step('operatorCancelMissed', NOTHING_MISSED),
  step('operatorListUnknowns', PAGE),
  step('operatorSettleUnknowns'),
  step('operatorFindFence'),
  step('operatorPauseSending'),
  step('operatorResumeSending'),
  step('operatorReconcile', { query: { hours: 24 } }),
  step('operatorReconcileReceipts'),
  step('operatorDoctor'),
  step('operatorListAuditEntries', PAGE),
];
