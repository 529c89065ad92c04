import { from, type Step, step } from '../step.ts';

const GIF = 'GIF89a\x01\0\x01\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;';
const DAY_MS = 24 * 3_600_000;
const inDays = (days: number): string => new Date(Date.now() + days * DAY_MS).toISOString();
const SMS = { messageId: from('sendSms.messageId') };
const EXPORT = { exportId: from('exportHistory.exportId') };
const CHAT = { chatId: from('listConversations.data.0.chatId') };
const MEDIA = { id: from('uploadMedia.id') };
const TEMPLATE = { id: from('createWhatsappTemplate.id') };
const RCS_TEMPLATE = { id: from('createRcsTemplate.id') };
const WEBHOOK_CALLS_ONE = { id: from('listWebhookDeliveries.data.0.id') };
const ENDPOINT = { id: from('createEndpoint.id') };
const ENDPOINT_LOG = { endpoint: from('createEndpoint.id') };
const ENDPOINT_CALL = { ...ENDPOINT_LOG, id: from('listEndpointDeliveries.data.0.id') };
const SERVICE = { id: from('createVerifyService.id') };
const OF_SERVICE = { serviceId: SERVICE.id };
const VERIFICATION = { id: from('startVerification.id') };
const UNSIGNED = { path: OF_SERVICE, status: 401, because: 'the product signs its requests' };
const LATER = {
  phoneNumber: undefined,
  message: undefined,
  customerMessageId: 'order-4720',
  destination: '+393331234567',
  sender: 'ACME',
  body: 'Later',
  scheduledDate: inDays(7),
};

/** Messages, what becomes of them, and the events about them. */
export const MESSAGES: readonly Step[] = [
  step('createStatusWebhook'),
  step('findStatusWebhook'),
  step('updateStatusWebhook'),
  step('deleteStatusWebhook'),
  step('createWebhook'),
  step('findWebhook'),
  step('updateWebhook'),
  step('rotateWebhookSecret'),
  step('testWebhook'),
  step('listEventTypes'),
  step('updateEventFeed'),
  step('findEventFeed'),
  step('createEndpoint'),
  step('listEndpoints'),
  step('findEndpoint', { path: ENDPOINT }),
  step('updateEndpoint', { path: ENDPOINT }),
  step('enableEndpoint', { path: ENDPOINT }),
  step('rotateEndpointSecret', { path: ENDPOINT }),
  step('testEndpoint', { path: ENDPOINT }),

  step('createVerifyService'),
  step('listVerifyServices'),
  step('findVerifyService', { path: SERVICE }),
  step('updateVerifyService', { path: SERVICE }),
  step('setVerifyHookSecret', { path: SERVICE }),
  step('startVerification', { body: OF_SERVICE, status: 201 }),
  step('checkVerificationByNumber', { body: OF_SERVICE }),
  step('checkVerification', { path: VERIFICATION }),
  step('findVerification', { path: VERIFICATION }),
  step('resendVerification', { path: VERIFICATION, status: 429, because: 'the code was sent a moment ago' }),
  step('reportVerification', { path: VERIFICATION }),
  step('startVerification', { name: 'cancelled', body: { ...OF_SERVICE, to: '+393331230777' }, status: 201 }),
  step('cancelVerification', { path: { id: from('cancelled.id') } }),
  step('sendSupabaseCode', UNSIGNED),
  step('sendZitadelCode', UNSIGNED),
  step('sendAuthgearCode', UNSIGNED),
  step('listGuardDecisions'),
  step('blockGuardRange', { path: { prefix: '+99244012' } }),
  step('releaseGuardRange', { path: { prefix: '+99244012' } }),
  step('listGuardRanges'),
  step('replayGuard'),
  step('listVerifyStats'),
  step('deleteVerifyService', { path: SERVICE }),

  step('previewMessage'),
  step('sendSms'),
  step('sendSms', { name: 'scheduled', body: LATER }),
  step('listScheduledMessages', { query: { limit: 10 } }),
  step('getScheduledMessage', { path: { id: from('scheduled.messageId') } }),
  step('changeScheduledMessage', { path: { id: from('scheduled.messageId') }, body: { scheduledDate: inDays(8) } }),
  step('cancelScheduledMessage', { path: { id: from('scheduled.messageId') } }),
  step('sendSms', { name: 'other', body: { ...LATER, customerMessageId: 'order-4719' } }),
  step('cancelMessage', { path: { messageId: from('other.messageId') } }),
  step('sendSms', {
    name: 'guarded',
    body: {
      phoneNumber: '+393331230778',
      message: 'Your code: 482913',
      customerMessageId: 'code-1',
      purpose: 'otp',
      userIp: '203.0.113.7',
    },
  }),
  step('reportMessage', { path: { messageId: from('guarded.messageId') } }),
  step('sendBulkSms'),
  step('findMessageStatus', { path: { customerMessageId: 'order-4711' }, until: { deliveryStatus: ['DELIVERED'] } }),
  step('listMessageStatuses', { query: { customerMessageIds: 'order-4711,order-4714' } }),
  step('findSimpleMessageStatus', { path: { customerMessageId: 'order-4711' } }),
  step('deleteMessageContent', { path: { messageId: from('findMessageStatus.messageId') } }),
  step('findMessageTimeline', { path: SMS }),
  step('listMessageHistory', { query: { channel: 'SMS', from: inDays(-1), to: inDays(1), limit: 1 } }),
  step('searchMessages', { query: { destination: '+393331234567', limit: 1 } }),
  step('findOverview', { query: { hours: 24 } }),
  step('findPeriod', { query: { startDate: inDays(-6).slice(0, 10), endDate: inDays(0).slice(0, 10) } }),
  step('findFirstSteps'),
  step('findByText', { query: { q: 'order-4711' } }),

  step('listWhatsappPhoneNumbers'),
  step('listWhatsappTemplates', { query: { limit: 1 } }),
  step('createWhatsappTemplate'),
  step('findWhatsappTemplate', { path: TEMPLATE }),
  step('sendWhatsapp'),
  step('findWhatsappStatus', {
    path: { messageId: from('sendWhatsapp.messageId') },
    until: { status: ['DELIVERED', 'READ'] },
  }),
  step('requestRcsAgent'),
  step('listRcsAgents'),
  step('listRcsTemplates', { query: { limit: 1 } }),
  step('createRcsTemplate'),
  step('findRcsTemplate', { path: RCS_TEMPLATE }),
  step('deleteRcsTemplate', { path: RCS_TEMPLATE }),
  step('sendRcs'),
  step('findRcsStatus', { path: { messageId: from('sendRcs.messageId') }, until: { status: ['DELIVERED', 'READ'] } }),

  step('listWebhookDeliveries', { query: { eventType: 'DELIVERY', limit: 1 } }),
  step('findWebhookDelivery', { path: WEBHOOK_CALLS_ONE }),
  step('replayWebhookDelivery', { path: WEBHOOK_CALLS_ONE }),
  step('replayWebhookDeliveries'),
  step('readEventFeed', { query: { types: 'message.*', limit: 1 } }),
  step('listEndpointDeliveries', { path: ENDPOINT_LOG, query: { eventType: 'message.delivered', limit: 1 } }),
  step('findEndpointDelivery', { path: ENDPOINT_CALL }),
  step('replayEndpointDelivery', { path: ENDPOINT_CALL }),
  step('replayEndpointDeliveries', { path: ENDPOINT_LOG }),
  step('deleteEndpoint', { path: ENDPOINT }),
  step('deleteWebhook'),

  step('exportHistory'),
  step('exportContacts'),
  step('exportDeliveryReports'),
  step('findExport', { path: EXPORT, until: { isAvailableForDownload: [true] } }),
  step('listExports', { query: { limit: 1 } }),
  step('downloadExport', { path: EXPORT, url: from('findExport.downloadUrl'), as: 'anonymous' }),
  step('repeatExport', { path: EXPORT, status: 400, because: 'the file of a new export is still available' }),
  step('deleteExport', { path: EXPORT }),

  // By now the network has approved it.
  step('operatorSyncTemplates', { name: 'approval', path: { name: 'sandbox-whatsapp' }, as: 'user' }),
  step('changeWhatsappTemplate', { path: TEMPLATE }),
  step('deleteWhatsappTemplate', { path: TEMPLATE }),

  step('uploadMedia', { form: { fields: { name: 'Logo' }, content: GIF, fileName: 'logo.gif' } }),
  step('findMedia', { path: MEDIA }),
  step('listMedia', { query: { limit: 1 } }),
  step('downloadMedia', {
    path: { mediaKey: from('uploadMedia.url', keyOf) },
    url: from('uploadMedia.url'),
    as: 'anonymous',
  }),
  step('revokeMediaLinks', { path: MEDIA }),
  step('deleteMedia', { path: MEDIA }),

  step('replyInConversation'),
  step('listConversations', { query: { orderBy: '-lastMessageDate', limit: 1 } }),
  step('listAssignableUsers'),
  step('findConversation', { path: CHAT }),
  step('listConversationMessages', { path: CHAT }),
  step('assignConversation', { path: CHAT }),
  step('unassignConversation', { path: CHAT }),
  step('readConversation', { path: CHAT }),
  step('archiveConversation', { path: CHAT }),
  step('unarchiveConversation', { path: CHAT }),
  step('unreadConversation', { path: CHAT }),
  step('snoozeConversation', { path: CHAT }),
  step('reportPresence', { path: CHAT }),
  step('showRead', { path: CHAT, status: 400, because: 'the conversation of a new program is by SMS' }),
  step('showTyping', { path: CHAT, status: 400, because: 'the conversation of a new program is by SMS' }),
  step('addConversationNote', { path: CHAT }),
  step('listConversationNotes', { path: CHAT }),
  step('deleteConversationNote', { path: { ...CHAT, id: from('addConversationNote.id') } }),
  step('addInboxLabel'),
  step('listInboxLabels'),
  step('changeInboxLabel', { path: { id: from('addInboxLabel.id') } }),
  step('labelConversation', { path: CHAT }),
  step('deleteInboxLabel', { path: { id: from('addInboxLabel.id') } }),
  step('addCannedAnswer'),
  step('listCannedAnswers'),
  step('changeCannedAnswer', { path: { id: from('addCannedAnswer.id') } }),
  step('deleteCannedAnswer', { path: { id: from('addCannedAnswer.id') } }),
  step('searchInboxMessages', { query: { search: 'arrives today', limit: 1 } }),
  step('changeInboxSettings'),
  step('findInboxSettings'),
  step('changeAvailability', { as: 'user' }),
  step('findAvailability', { as: 'user' }),
  step('streamInbox'),
  step('addKeywordRule'),
  step('listKeywordRules', { query: { limit: 1 } }),
  step('changeKeywordRule', { path: { id: from('addKeywordRule.id') } }),
  step('deleteKeywordRule', { path: { id: from('addKeywordRule.id') } }),
];

function keyOf(url: string): string {
  return new URL(url, 'http://localhost').pathname.split('/').at(-1) ?? '';
}
