import { type Static, Type } from 'typebox';
import { RcsSendIn, WhatsappSendIn } from '../rich/schema.ts';
import { channelName, orNull } from '../../../platform/lib/schema.ts';

/** Half-written fields are for problems to tell of, not for 400. */
const destination = Type.Optional(Type.String({ maxLength: 50, description: 'E.164.' }));
const sender = (description: string) => Type.Optional(Type.String({ maxLength: 128, description }));

const rcs = RcsSendIn.properties;
const whatsapp = WhatsappSendIn.properties;

const SmsPreview = Type.Object({
  channel: Type.Literal('SMS'),
  destination,
  sender: sender('As senderName.'),
  text: Type.Optional(Type.String({ maxLength: 10_000 })),
});
const WhatsappPreview = Type.Object({
  channel: Type.Literal('WHATSAPP'),
  destination,
  sender: sender('The phoneNumberId. A template by its name needs it.'),
  template: whatsapp.template,
  body: whatsapp.body,
});
const RcsPreview = Type.Object({
  channel: Type.Literal('RCS'),
  destination,
  sender: sender('The agentId.'),
  templateId: rcs.templateId,
  variables: rcs.variables,
  body: rcs.body,
});

/** The same contents as the sends take, every field but the channel left out as one likes. */
export const PreviewIn = Type.Union([SmsPreview, WhatsappPreview, RcsPreview]);
export type PreviewIn = Static<typeof PreviewIn>;

export const PreviewOut = Type.Object({
  channel: channelName(),
  text: Type.String({ description: 'What people would read.' }),
  encoding: orNull(Type.Enum(['GSM-7', 'UCS-2'], { type: 'string', description: 'Of an SMS.' })),
  characters: Type.Integer({
    description: 'As they count: on SMS two for each of ^{}\\[~]|€ in GSM-7, and for an emoji in UCS-2.',
  }),
  parts: Type.Integer(),
  perPart: orNull(Type.Integer({ description: 'Characters that each part takes; null but for an SMS.' })),
  remaining: orNull(Type.Integer({ description: 'Characters that fit before there is one part more.' })),
  unsupported: Type.Array(Type.String(), { description: 'The characters that make it UCS-2, at most 50.' }),
  country: orNull(Type.String({ description: 'Of the number: ISO 3166-1 alpha-2.' })),
  unitPrice: orNull(Type.Number({ description: 'A part on SMS, a message elsewhere; null while it is not known.' })),
  price: orNull(Type.Number()),
  currency: Type.String(),
  valid: Type.Boolean({ description: 'Nothing is wrong with the fields that are there.' }),
  problems: Type.Array(Type.Object({ field: Type.String(), message: Type.String() })),
});
export type PreviewOut = Static<typeof PreviewOut>;
