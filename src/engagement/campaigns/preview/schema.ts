import { type Static, Type } from 'typebox';
import { SKIP_REASONS } from '../audience/sql.ts';
import { CampaignIn } from '../schema.ts';
import { channelName, id, orNull } from '../../../platform/lib/schema.ts';

const { sendingMode, smsSender, smsBody, rcsAgentId, rcsTemplateId, ...form } = CampaignIn.properties;
const { whatsappPhoneNumberId, whatsappTemplateId, contactListIds } = form;

/** Who can be shown at a time, and how far into a list. */
const MAX_SHOWN = 20;
const MAX_OFFSET = 1000;

export const PreviewIn = Type.Object({
  sendingMode,
  smsSender,
  smsBody,
  rcsAgentId,
  rcsTemplateId,
  whatsappPhoneNumberId,
  whatsappTemplateId,
  contactIds: Type.Optional(
    Type.Array(id(), { maxItems: MAX_SHOWN, description: 'These contacts, in place of lists and destinations.' }),
  ),
  contactListIds,
  destinations: Type.Optional(
    Type.Array(Type.String({ maxLength: 50 }), {
      maxItems: 1000,
      description: 'Numbers, where there are no lists: some of them will do.',
    }),
  ),
  limit: Type.Integer({ minimum: 1, maximum: MAX_SHOWN, default: 5, description: 'Recipients shown.' }),
  offset: Type.Integer({ minimum: 0, maximum: MAX_OFFSET, default: 0, description: 'Recipients left out before.' }),
});
export type PreviewIn = Static<typeof PreviewIn>;

const Step = Type.Object({
  channel: channelName(),
  text: Type.String({ description: 'What this recipient would read.' }),
  parts: Type.Integer(),
  encoding: orNull(Type.Enum(['GSM-7', 'UCS-2'], { type: 'string', description: 'Of an SMS.' })),
  unitPrice: orNull(Type.Number({ description: 'A part on SMS, a message elsewhere.' })),
  reachable: Type.Boolean({ description: 'False: the recipient is not tried on this channel.' }),
});

export const PreviewOut = Type.Object({
  data: Type.Array(
    Type.Object({
      contactId: orNull(Type.Integer()),
      name: Type.String({ description: 'Empty where none is known.' }),
      phoneNumber: orNull(Type.String()),
      steps: Type.Array(Step, { description: 'In the order of the mode.' }),
      missing: Type.Array(Type.String(), { description: 'Fields that the texts use and this recipient lacks.' }),
      skip: orNull(
        Type.Enum([...SKIP_REASONS], { type: 'string', description: 'Why nothing would be sent to this recipient.' }),
      ),
    }),
    { description: 'In the order of the numbers.' },
  ),
  placeholders: Type.Array(
    Type.Object({
      name: Type.String(),
      custom: Type.Boolean(),
      filled: Type.Integer({ description: 'How many of the recipients shown have a value.' }),
    }),
  ),
  total: Type.Integer({ description: 'Contacts of the lists together, or contacts or numbers that were named.' }),
  currency: Type.String(),
  problems: Type.Array(Type.Object({ field: Type.String(), message: Type.String() }), {
    description: 'What would keep the campaign from being saved or confirmed.',
  }),
});
export type PreviewOut = Static<typeof PreviewOut>;

export const PlaceholderOut = Type.Object({
  name: Type.String({ description: 'Written `{{name}}`, or `{{name|default}}`.' }),
  custom: Type.Boolean(),
  type: Type.Enum(['text', 'number', 'boolean', 'date'], { type: 'string' }),
  description: Type.String(),
});
