import { type Static, Type } from 'typebox';
import { RcsSendIn, WhatsappSendIn } from '../rich/schema.ts';
import { shownAmount } from '../../../platform/lib/amounts.ts';
import { MAX_USER_ID_LENGTH } from '../../../platform/lib/phone/user-id.ts';
import { channelName, orNull } from '../../../platform/lib/schema.ts';

/** The schema accepts incomplete fields: they are reported in `problems` and not by 400. */
const destination = Type.Optional(Type.String({ maxLength: 50, description: 'The number in E.164.' }));
const person = Type.Optional(
  Type.String({ maxLength: MAX_USER_ID_LENGTH, description: 'The number in E.164, or a user id.' }),
);
const sender = (description: string) => Type.Optional(Type.String({ maxLength: 128, description }));

const rcs = RcsSendIn.properties;
const whatsapp = WhatsappSendIn.properties;

const SmsPreview = Type.Object({
  channel: Type.Literal('SMS'),
  destination,
  sender: sender('The sender, as in senderName.'),
  text: Type.Optional(Type.String({ maxLength: 10_000 })),
});
const WhatsappPreview = Type.Object({
  channel: Type.Literal('WHATSAPP'),
  destination: person,
  sender: sender('The phoneNumberId. Required for a template that is given by its name.'),
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

/** The same contents as in sends; every field except the channel may be omitted. */
export const PreviewIn = Type.Union([SmsPreview, WhatsappPreview, RcsPreview]);
export type PreviewIn = Static<typeof PreviewIn>;

export const PreviewOut = Type.Object({
  channel: channelName(),
  text: Type.String({ description: 'The text that people would read.' }),
  encoding: orNull(
    Type.Enum(['GSM-7', 'UCS-2'], { type: 'string', description: 'Only for an SMS; null on other channels.' }),
  ),
  characters: Type.Integer({
    description:
      'As they are counted on SMS: ^{}\\[~]|€ count as two each in GSM-7, and an emoji counts as two in UCS-2.',
  }),
  parts: Type.Integer(),
  perPart: orNull(Type.Integer({ description: 'Characters per part; null except for an SMS.' })),
  remaining: orNull(Type.Integer({ description: 'Characters that fit before another part is needed.' })),
  unsupported: Type.Array(Type.String(), { description: 'The characters that require UCS-2, at most 50.' }),
  country: orNull(Type.String({ description: 'The country of the number: ISO 3166-1 alpha-2.' })),
  unitPrice: shownAmount('The price of a part on SMS, of a message elsewhere; null while it is unknown.'),
  price: shownAmount('The price of the message; null while it is unknown.'),
  currency: Type.String(),
  valid: Type.Boolean({ description: 'True if the given fields have no problems.' }),
  problems: Type.Array(Type.Object({ field: Type.String(), message: Type.String() })),
});
export type PreviewOut = Static<typeof PreviewOut>;
