import { type Static, Type } from 'typebox';
import { RcsBody } from '../../../network/templates/rcs-body.ts';
import { trafficType } from '../../../network/templates/schema.ts';
import { Fallback } from '../fallback-schema.ts';
import { clientIdFields, PhoneNumber, Reasons, Sender, Text, WhatsappPerson } from '../schema.ts';
import { WhatsappBody } from './whatsapp-body.ts';
import { orNull } from '../../../platform/lib/schema.ts';

const shared = {
  destination: PhoneNumber,
  ...clientIdFields,
  enableNotification: Type.Optional(
    Type.Boolean({ description: 'Ask for a delivery receipt (default true; always with a fallback).' }),
  ),
  scheduledDate: Type.Optional(
    Type.String({
      description: 'yyyy-MM-dd HH:mm:ss.SSSZ, for example 2027-01-31 09:00:00.000+0100, or ISO 8601 with an offset.',
    }),
  ),
  validityPeriod: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 21_600,
      description: 'Minutes until the message and its fallbacks are no longer sent; at most 15 days.',
    }),
  ),
  simulation: Type.Optional(
    Type.Boolean({
      description:
        'Goes to no carrier and costs nothing. The last digits of the number choose the final state: 0001 and 0003 ERROR, 0002 ' +
        'EXPIRED, 0004 none, 0005 DELIVERED after 30 s, 0006 READ, 0007 UNSUPPORTED, 0008 DISABLED, 0009 ' +
        'CONVERSATION_CLOSED (WhatsApp only); any others DELIVERED after about 1 s.',
    }),
  ),
};

const Variables = Type.Optional(
  Type.Union(
    [
      Type.Array(Type.String({ maxLength: 1024 }), { maxItems: 100 }),
      Type.Record(Type.String(), Type.String({ maxLength: 1024 })),
    ],
    {
      description:
        'The values of the placeholders, as a list in their order (header, body, buttons; on RCS sorted by name) or by name.',
    },
  ),
);

const WhatsappTemplate = Type.Object({
  id: Type.Optional(
    Type.String({ minLength: 1, maxLength: 64, description: 'The id of the template; or give its name and language.' }),
  ),
  name: Type.Optional(Type.String({ minLength: 1, maxLength: 512 })),
  language: Type.Optional(
    Type.String({ minLength: 1, maxLength: 20, description: 'As the network writes it, for example pt_PT.' }),
  ),
  variables: Variables,
  headerLink: Type.Optional(
    Type.String({ pattern: '^https?://[^\\s]{1,2040}$', description: 'The link to the file of a media header.' }),
  ),
});

const agentId = Type.String({ minLength: 1, maxLength: 128, description: 'Your agent that sends the message.' });
const rcsContent = {
  templateId: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
  variables: Variables,
  body: Type.Optional(RcsBody),
  trafficType: Type.Optional(
    trafficType(
      'The purpose of the message; by default that of the template, then that of the connection. Agents with several uses ' +
        'must state it for each message.',
    ),
  ),
};

const RcsContent = Type.Object(rcsContent);
export type RcsContent = Static<typeof RcsContent>;

const FallbackRcs = Type.Object(
  { agentId, ...rcsContent },
  { description: 'Sent when the message fails or takes too long. Requires fallbackSms, which comes after it.' },
);
export type FallbackRcs = Static<typeof FallbackRcs>;

const FallbackSms = Type.Object(
  { sender: Type.Optional(Sender), body: Text },
  { description: 'Sent last, when the messages before it fail or take too long.' },
);
export type FallbackSms = Static<typeof FallbackSms>;

export const WhatsappSendIn = Type.Object({
  phoneNumberId: Type.String({ minLength: 1, maxLength: 128, description: 'Your number that sends the message.' }),
  ...shared,
  destination: WhatsappPerson,
  template: Type.Optional(WhatsappTemplate),
  body: Type.Optional(WhatsappBody),
  fallbackRcs: Type.Optional(FallbackRcs),
  fallbackSms: Type.Optional(FallbackSms),
  fallback: Type.Optional(Fallback),
});

export const WHATSAPP_EXAMPLE: Static<typeof WhatsappSendIn> = {
  phoneNumberId: '100000000000001',
  destination: '+393331234567',
  customerMessageId: 'order-4712',
  template: { name: 'sandbox_welcome', language: 'en', variables: ['Ada'] },
  fallbackSms: { sender: 'ACME', body: 'Your parcel arrives today' },
};
export type WhatsappSendIn = Static<typeof WhatsappSendIn>;

export const RcsSendIn = Type.Object({
  agentId,
  ...shared,
  ...rcsContent,
  fallbackSms: Type.Optional(FallbackSms),
  fallback: Type.Optional(Fallback),
});

export const RCS_EXAMPLE: Static<typeof RcsSendIn> = {
  agentId: 'sandbox',
  destination: '+393331234567',
  customerMessageId: 'order-4713',
  body: {
    type: 'CARD',
    card: {
      title: 'Your parcel arrives today',
      description: 'Between 14:00 and 16:00. Will you be at home?',
      suggestions: [{ reply: { text: 'Yes', postbackData: 'home-yes' } }],
    },
  },
  fallbackSms: { sender: 'ACME', body: 'Your parcel arrives today' },
};
export type RcsSendIn = Static<typeof RcsSendIn>;

const Result = Type.Object({ accepted: Type.Boolean(), reasons: Reasons });
const answerOf = (results: Record<string, typeof Result>) =>
  Type.Object(
    {
      messageId: orNull(Type.String({ description: 'Our id; null when the message was rejected.' })),
      customerMessageId: orNull(Type.String()),
      simulation: Type.Boolean(),
      results: Type.Object(results),
    },
    { description: 'The message is committed. A rejected message has `accepted: false` and its reasons.' },
  );

export const WhatsappSendOut = answerOf({ whatsapp: Result });
export const RcsSendOut = answerOf({ rcs: Result });
