import { type Static, Type } from 'typebox';
import { SKIP_REASONS } from '../audience/sql.ts';
import { CampaignIn } from '../schema.ts';
import { shownAmount } from '../../../platform/lib/amounts.ts';
import { channelName, id, orNull } from '../../../platform/lib/schema.ts';

const { sendingMode, smsSender, smsBody, rcsAgentId, rcsTemplateId, rcsTrafficType, ...form } = CampaignIn.properties;
const { whatsappPhoneNumberId, whatsappTemplateId, contactListIds } = form;

/** Number of recipients that can be shown at a time, and maximum offset into a list. */
const MAX_SHOWN = 20;
const MAX_OFFSET = 1000;

export const PreviewIn = Type.Object({
  sendingMode,
  smsSender,
  smsBody,
  rcsAgentId,
  rcsTemplateId,
  rcsTrafficType,
  whatsappPhoneNumberId,
  whatsappTemplateId,
  contactIds: Type.Optional(
    Type.Array(id(), { maxItems: MAX_SHOWN, description: 'These contacts, instead of lists and destinations.' }),
  ),
  contactListIds,
  destinations: Type.Optional(
    Type.Array(Type.String({ maxLength: 50 }), {
      maxItems: 1000,
      description: 'Numbers, if there are no lists. Some of them are enough.',
    }),
  ),
  skip: Type.Optional(
    Type.Enum([...SKIP_REASONS], {
      type: 'string',
      description: 'Only recipients to whom nothing would be sent for this reason. All recipients are examined for it.',
    }),
  ),
  limit: Type.Integer({ minimum: 1, maximum: MAX_SHOWN, default: 5, description: 'Number of recipients to show.' }),
  offset: Type.Integer({
    minimum: 0,
    maximum: MAX_OFFSET,
    default: 0,
    description: 'Number of recipients to skip first.',
  }),
});
export type PreviewIn = Static<typeof PreviewIn>;

const Step = Type.Object({
  channel: channelName(),
  text: Type.String({ description: 'The text that this recipient would read.' }),
  parts: Type.Integer(),
  encoding: orNull(
    Type.Enum(['GSM-7', 'UCS-2'], { type: 'string', description: 'The encoding of an SMS; otherwise null.' }),
  ),
  unitPrice: shownAmount('Per part on SMS, per message on other channels.'),
  reachable: Type.Boolean({ description: 'False: the recipient is not tried on this channel.' }),
});

export const PreviewOut = Type.Object({
  data: Type.Array(
    Type.Object({
      contactId: orNull(Type.Integer()),
      name: Type.String({ description: 'Empty if the name is not known.' }),
      phoneNumber: orNull(Type.String()),
      steps: Type.Array(Step, { description: 'In the order of the mode.' }),
      missing: Type.Array(Type.String(), {
        description: 'Fields that the texts use and this recipient does not have.',
      }),
      skip: orNull(
        Type.Enum([...SKIP_REASONS], {
          type: 'string',
          description: 'Reason why nothing would be sent to this recipient.',
        }),
      ),
    }),
    { description: 'In the order of the numbers.' },
  ),
  placeholders: Type.Array(
    Type.Object({
      name: Type.String(),
      custom: Type.Boolean(),
      filled: Type.Integer({ description: 'Number of the shown recipients that have a value.' }),
    }),
  ),
  total: Type.Integer({ description: 'All contacts of the lists, or all contacts or numbers that were given.' }),
  currency: Type.String(),
  problems: Type.Array(Type.Object({ field: Type.String(), message: Type.String() }), {
    description: 'Faults that prevent the campaign from being saved or confirmed.',
  }),
});
export type PreviewOut = Static<typeof PreviewOut>;

export const PlaceholderOut = Type.Object({
  name: Type.String({ description: 'Written `{{name}}`, or `{{name|default}}`.' }),
  custom: Type.Boolean(),
  type: Type.Enum(['text', 'number', 'boolean', 'date'], { type: 'string' }),
  description: Type.String(),
});
