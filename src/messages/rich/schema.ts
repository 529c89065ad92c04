import { type Static, Type } from 'typebox';
import { RcsBody } from '../../templates/rcs-body.ts';
import { ClientId, PhoneNumber } from '../schema.ts';
import { WhatsappBody } from './whatsapp-body.ts';

const orNull = <T extends Type.TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

const shared = {
  destination: PhoneNumber,
  messageId: Type.Optional(ClientId),
  enableNotification: Type.Optional(Type.Boolean({ description: 'Tell the webhook of it (default true).' })),
  scheduledDate: Type.Optional(
    Type.String({
      description: 'yyyy-MM-dd HH:mm:ss.SSSZ, for example 2027-01-31 09:00:00.000+0100, or ISO 8601 with offset.',
    }),
  ),
  validityPeriod: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 21_600, description: 'Minutes until the message is no longer sent; 15 days.' }),
  ),
  simulation: Type.Optional(
    Type.Boolean({
      description:
        'Goes to no carrier and costs nothing. The last digits of the number choose the end: 0001 to 0005 as on SMS, ' +
        '0006 READ, 0007 UNSUPPORTED, 0008 DISABLED, 0009 CONVERSATION_CLOSED.',
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
        'The values of the placeholders: in their order (header, body, buttons; RCS: by name), or by what they are called.',
    },
  ),
);

const WhatsappTemplate = Type.Object({
  id: Type.Optional(Type.String({ minLength: 1, maxLength: 64, description: 'Or name and language.' })),
  name: Type.Optional(Type.String({ minLength: 1, maxLength: 512 })),
  language: Type.Optional(
    Type.String({ minLength: 1, maxLength: 20, description: 'As the network writes it: pt_PT.' }),
  ),
  variables: Variables,
  headerLink: Type.Optional(
    Type.String({ pattern: '^https?://[^\\s]{1,2040}$', description: 'The file of a header with media.' }),
  ),
});

/** Of another channel, tried when this one fails; not carried out by single sends yet. */
const Fallback = Type.Optional(Type.Object({}, { additionalProperties: true, description: 'Not taken yet: 400.' }));

export const WhatsappSendIn = Type.Object({
  phoneNumberId: Type.String({ minLength: 1, maxLength: 128, description: 'The number of yours that it comes from.' }),
  ...shared,
  template: Type.Optional(WhatsappTemplate),
  body: Type.Optional(WhatsappBody),
  fallbackRcs: Fallback,
  fallbackSms: Fallback,
});
export type WhatsappSendIn = Static<typeof WhatsappSendIn>;

export const RcsSendIn = Type.Object({
  agentId: Type.String({ minLength: 1, maxLength: 128, description: 'The agent of yours that it comes from.' }),
  ...shared,
  templateId: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
  variables: Variables,
  body: Type.Optional(RcsBody),
  fallbackSms: Fallback,
});
export type RcsSendIn = Static<typeof RcsSendIn>;

const Result = Type.Object({ accepted: Type.Boolean(), reasons: Type.Array(Type.String()) });
const answerOf = (results: Record<string, typeof Result>) =>
  Type.Object(
    {
      messageId: orNull(Type.String({ description: 'Ours; null when the message was refused.' })),
      simulation: Type.Boolean(),
      results: Type.Object(results),
    },
    { description: 'Committed. A refused message has `accepted: false` and its reasons.' },
  );

export const WhatsappSendOut = answerOf({ whatsapp: Result });
export const RcsSendOut = answerOf({ rcs: Result });
