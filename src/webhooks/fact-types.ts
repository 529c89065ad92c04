import { type Static, type TObject, Type } from 'typebox';
import { channelName, orNull } from '../core/schema.ts';

const fact = <D extends TObject>(summary: string, data: D, example: Static<D>) => ({ summary, data, example });
const phoneNumber = Type.String({ description: 'In E.164 format, or a user id of the network.' });

const Contact = Type.Object({
  contactId: Type.Integer(),
  phoneNumber: orNull(phoneNumber),
  email: orNull(Type.String()),
  fullName: orNull(Type.String()),
  firstName: orNull(Type.String()),
  lastName: orNull(Type.String()),
});
const CONTACT = {
  contactId: 17,
  phoneNumber: '+393331234567',
  email: null,
  fullName: null,
  firstName: 'Ada',
  lastName: 'Example',
};

const verification = (summary: string, status: string) =>
  fact(
    summary,
    Type.Object({
      verificationId: Type.String({ format: 'uuid' }),
      serviceId: Type.String({ format: 'uuid' }),
      to: Type.String({ description: 'The number with its middle hidden.' }),
      country: orNull(Type.String()),
      channel: orNull(channelName()),
      status: Type.String(),
      sends: Type.Integer(),
      checks: Type.Integer({ description: 'Wrong codes so far.' }),
      customerReference: orNull(Type.String()),
      reasons: Type.Array(Type.Record(Type.String(), Type.Unknown()), { description: 'What the guard found.' }),
    }),
    {
      verificationId: '01a1fd63-cf7c-7183-929b-000000000015',
      serviceId: '01a1fd63-cf7c-7183-929b-000000000016',
      to: '+39333*****67',
      country: 'IT',
      channel: 'SMS',
      status,
      sends: 1,
      checks: 0,
      customerReference: null,
      reasons: [],
    },
  );
const VERIFICATION_FACTS = {
  'verification.created': verification('A code was requested for a number', 'PENDING'),
  'verification.sent': verification('A message with a code was accepted for sending', 'PENDING'),
  'verification.approved': verification('The right code was entered', 'APPROVED'),
  'verification.failed': verification('A verification ended without the right code', 'MAX_CHECKS'),
  'verification.expired': verification('A code was not entered in time', 'EXPIRED'),
  'verification.blocked': verification('The guard has stopped a code', 'BLOCKED'),
};

/**
 * Events whose data are written with them, in the transaction of the change (`publishFacts`). An entry here is all that a
 * type needs: endpoints, the feed, the API description and the console follow.
 */
export const FACTS = {
  'consent.changed': fact(
    'The consent of a person has changed',
    Type.Object({
      phoneNumber,
      channel: channelName(),
      purpose: Type.String({ description: '`*`: all messages.' }),
      sender: Type.String({ description: '`*`: every sender.' }),
      state: Type.Enum(['OPTED_OUT', 'OPTED_IN', 'PENDING', 'UNKNOWN'], { type: 'string' }),
      source: Type.String(),
    }),
    { phoneNumber: '+393331234567', channel: 'SMS', purpose: '*', sender: '*', state: 'OPTED_OUT', source: 'STOP' },
  ),
  'consent.suspected': fact(
    'A message probably asks for no more messages: marketing to its sender waits for your decision',
    Type.Object({ messageId: Type.String({ format: 'uuid' }), phoneNumber, channel: channelName() }),
    { messageId: '01a1fd63-cf7c-7183-929b-000000000011', phoneNumber: '+393331234567', channel: 'SMS' },
  ),
  'erasure.done': fact(
    'A person was erased from the account, as far as it holds their data',
    Type.Object({ erasureId: Type.String({ format: 'uuid' }), rows: Type.Integer() }),
    { erasureId: '01a1fd63-cf7c-7183-929b-000000000015', rows: 48 },
  ),
  'campaign.state': fact(
    'A campaign has started, was paused, resumed or cancelled, or has ended',
    Type.Object({
      campaignId: Type.Integer(),
      state: Type.Enum(['SENDING', 'PAUSED', 'CANCELLED', 'COMPLETED', 'FAILED'], { type: 'string' }),
      reason: orNull(Type.String()),
    }),
    { campaignId: 7, state: 'COMPLETED', reason: null },
  ),
  'template.status': fact(
    'A network has changed the status or the quality of a template',
    Type.Object({
      templateId: Type.String(),
      name: Type.String(),
      language: Type.String(),
      status: Type.String(),
      oldStatus: Type.String(),
      quality: orNull(Type.String()),
      reason: orNull(Type.String()),
    }),
    {
      templateId: '1234567890',
      name: 'order_shipped',
      language: 'it',
      status: 'PAUSED',
      oldStatus: 'APPROVED',
      quality: 'LOW',
      reason: null,
    },
  ),
  'template.category': fact(
    'A network has put a template into another category',
    Type.Object({
      templateId: Type.String(),
      name: Type.String(),
      language: Type.String(),
      category: Type.String(),
      oldCategory: Type.String(),
    }),
    {
      templateId: '1234567890',
      name: 'order_shipped',
      language: 'it',
      category: 'MARKETING',
      oldCategory: 'UTILITY',
    },
  ),
  'sender.quality': fact(
    'WhatsApp has changed the quality of one of your numbers',
    Type.Object({ phoneNumberId: Type.String(), quality: Type.String(), oldQuality: Type.String() }),
    { phoneNumberId: '100000000000001', quality: 'YELLOW', oldQuality: 'GREEN' },
  ),
  'sender.limit': fact(
    'WhatsApp has changed how many people one of your numbers may write to first within 24 hours',
    Type.Object({
      phoneNumberId: Type.String(),
      people: orNull(Type.Integer({ description: 'Null: any number.' })),
      oldPeople: orNull(Type.Integer()),
    }),
    { phoneNumberId: '100000000000001', people: 10_000, oldPeople: 2000 },
  ),
  'conversation.assigned': fact(
    'A conversation was assigned to a user, or unassigned',
    Type.Object({ chatId: Type.String({ format: 'uuid' }), userId: orNull(Type.Integer()) }),
    { chatId: '01a1fd63-cf7c-7183-929b-000000000012', userId: 3 },
  ),
  'conversation.closed': fact(
    'A conversation was archived',
    Type.Object({ chatId: Type.String({ format: 'uuid' }), userId: orNull(Type.Integer()) }),
    { chatId: '01a1fd63-cf7c-7183-929b-000000000012', userId: 3 },
  ),
  'contact.created': fact('A contact was created', Contact, CONTACT),
  'contact.updated': fact('A contact was changed', Contact, CONTACT),
  ...VERIFICATION_FACTS,
  'import.completed': fact(
    'An import of contacts has ended',
    Type.Object({
      importId: Type.Integer(),
      status: Type.Enum(['COMPLETED', 'FAILED'], { type: 'string' }),
      created: Type.Integer(),
      updated: Type.Integer(),
    }),
    { importId: 5, status: 'COMPLETED', created: 120, updated: 4 },
  ),
  'export.completed': fact(
    'An export has ended',
    Type.Object({
      exportId: Type.String({ format: 'uuid' }),
      status: Type.Enum(['COMPLETED', 'FAILED'], { type: 'string' }),
      rows: orNull(Type.Integer()),
    }),
    { exportId: '01a1fd63-cf7c-7183-929b-000000000014', status: 'COMPLETED', rows: 5000 },
  ),
  'credit.low': fact(
    'The credit of the account runs out at its present pace, or has run out',
    Type.Object({
      state: Type.Enum(['LOW', 'EMPTY'], { type: 'string' }),
      availableCredit: orNull(Type.Number({ description: 'Null if the endpoint was made without the scope `money`.' })),
      currency: Type.String(),
    }),
    { state: 'LOW', availableCredit: 4.2, currency: 'EUR' },
  ),
  'webhook.disabled': fact(
    'An endpoint was disabled because it keeps failing',
    Type.Object({ endpointId: Type.String(), reason: Type.String() }),
    { endpointId: '42', reason: 'the receiver returned 410 Gone' },
  ),
};
export type FactType = keyof typeof FACTS;
export type FactData<T extends FactType> = Static<(typeof FACTS)[T]['data']>;
