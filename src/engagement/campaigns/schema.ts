import { type Static, Type } from 'typebox';
import { Fallback } from '../../messaging/sending/fallback-schema.ts';
import { SENDING_MODES } from './mode.ts';
import { QuietHours } from './policy/schema.ts';
import { instant, orNull } from '../../platform/lib/schema.ts';

const MAX_ID = Number.MAX_SAFE_INTEGER;
const MAX_LISTS = 1000;
const MAX_DESTINATIONS = 100_000;

const optional = <S extends Type.TSchema>(schema: S) => Type.Optional(orNull(schema));
const id = () => Type.Integer({ minimum: 1, maximum: MAX_ID });

const SendingMode = Type.Enum([...SENDING_MODES], {
  type: 'string',
  description: 'A combined mode tries its channels in the order named, until one delivers.',
});

const Hours = Type.Union([QuietHours, Type.Object({ off: Type.Literal(true) })], {
  description: 'In place of those of the account; `{ "off": true }`: none.',
});

const settings = {
  description: Type.Optional(Type.String({ maxLength: 1000 })),
  smsSender: optional(Type.String({ maxLength: 20, description: 'Required for SMS.' })),
  smsBody: optional(
    Type.String({
      maxLength: 5000,
      description:
        'Required for SMS. `{{field}}` or `{{field|default}}` stands for what the contact has: fullName, firstName, ' +
        'lastName, name, gender, phoneNumber, email or a custom field.',
    }),
  ),
  rcsAgentId: optional(Type.String({ maxLength: 128, description: 'Required for RCS.' })),
  rcsTemplateId: optional(Type.String({ maxLength: 64, description: 'Required for RCS.' })),
  whatsappPhoneNumberId: optional(Type.String({ maxLength: 128, description: 'Required for WhatsApp.' })),
  whatsappTemplateId: optional(Type.String({ maxLength: 64, description: 'Required for WhatsApp.' })),
  destinationType: Type.Optional(
    Type.Enum([1, 2], { type: 'integer', description: '1 contact lists, 2 destinations. Follows from what is given.' }),
  ),
  contactListIds: Type.Optional(Type.Array(id(), { maxItems: MAX_LISTS })),
  destinations: Type.Optional(
    Type.Array(Type.String({ maxLength: 50 }), {
      maxItems: MAX_DESTINATIONS,
      description: 'Numbers. What is no valid number is counted as skipped.',
    }),
  ),
  scheduledDate: optional(
    Type.String({
      maxLength: 40,
      description: '`yyyy-MM-dd HH:mm:ss.SSSZ` or ISO 8601 with an offset. Without: sent when it is confirmed.',
    }),
  ),
  readyToSend: Type.Optional(Type.Boolean({ description: 'False: a draft. Default: false.' })),
  fallback: optional(Fallback),
  quietHours: optional(Hours),
  rate: optional(Type.Integer({ minimum: 1, maximum: 100_000, description: 'Recipients a second at most.' })),
};

const name = Type.String({ minLength: 1, maxLength: 200 });

export const CampaignIn = Type.Object({ name, sendingMode: SendingMode, ...settings });
export type CampaignIn = Static<typeof CampaignIn>;
export const CampaignPatch = Type.Partial(CampaignIn);
export type CampaignPatch = Static<typeof CampaignPatch>;

export const CampaignId = Type.Object({ id: id() });

const count = (description: string) => Type.Integer({ description });
const money = (description: string) => Type.Number({ description });

const Skipped = Type.Object(
  {
    invalid: count('No number, or none that is valid.'),
    unsupported: count('None of the channels reaches the number.'),
    optedOut: count('Wants no messages on any of the channels.'),
    text: count('The text is empty for them, or longer than 10 parts.'),
    noRoute: count('No route leads there.'),
    noPrice: count('The price list has no price.'),
    duplicate: count('The same number in another list, or named again; not in `totalSkipped`.'),
  },
  { description: 'Why, as calculateGoal found it.' },
);

export const CampaignOut = Type.Object({
  id: Type.Integer(),
  name,
  description: Type.String(),
  status: Type.Integer({ description: '0 draft, 1 ready or scheduled, 2 sending, 3 completed, 4 failed.' }),
  sendingMode: SendingMode,
  smsSender: orNull(Type.String()),
  smsBody: orNull(Type.String()),
  rcsAgentId: orNull(Type.String()),
  rcsTemplateId: orNull(Type.String()),
  whatsappPhoneNumberId: orNull(Type.String()),
  whatsappTemplateId: orNull(Type.String()),
  contactListIds: Type.Array(Type.Integer()),
  destinations: Type.Optional(
    Type.Array(Type.String(), { description: 'As they were given. Left out of lists of campaigns.' }),
  ),
  destinationType: orNull(Type.Integer()),
  scheduledDate: orNull(Type.String({ description: '`yyyy-MM-dd HH:mm:ss.SSSZ`, in UTC.' })),
  readyToSend: Type.Boolean(),
  fallback: Fallback,
  quietHours: orNull(Hours),
  rate: orNull(Type.Integer()),
  totalDestinations: count('Distinct recipients, as calculateGoal found them.'),
  totalSuccess: count('Delivered.'),
  totalFailed: count('Ended and not delivered.'),
  totalPending: count('Neither delivered, failed nor skipped yet.'),
  totalSkipped: count('Nothing is sent to them.'),
  skipped: orNull(Skipped),
  progress: Type.Number({ description: '0 to 1: how many have come to an end.' }),
  ratePerSecond: orNull(
    Type.Number({
      description:
        'Messages given to carriers a second, over about the last minute. Null while it is not being sent, and in answers ' +
        'to changes.',
    }),
  ),
  estimatedSecondsLeft: orNull(
    Type.Integer({
      description: 'Until all is sent; in combined modes until all have an end. Null while nothing moves.',
    }),
  ),
  estimatedCost: money('What it costs at most; frozen at the confirmation.'),
  actualCost: money('What it has cost so far.'),
  currency: Type.String(),
  goalCalculatedAt: orNull(instant()),
  failureReason: orNull(Type.String({ description: 'Why it failed, or why it waits.' })),
  paused: Type.Boolean(),
  cancelled: Type.Boolean(),
  createdAt: instant(),
  updatedAt: instant(),
  confirmedAt: orNull(instant()),
  startedAt: orNull(instant()),
  completedAt: orNull(instant()),
});

export const PriceOut = Type.Object({
  campaignId: Type.Integer(),
  price: money('0 when it was never calculated.'),
  currency: Type.String(),
  totalDestinations: Type.Integer(),
  calculated: Type.Boolean({ description: 'False: never, or something has changed since.' }),
  calculatedAt: orNull(instant()),
  breakdown: Type.Array(
    Type.Object({
      channel: Type.String(),
      country: Type.String({ description: 'ISO 3166-1 alpha-2; empty where numbers belong to none.' }),
      parts: Type.Integer(),
      count: Type.Integer(),
      unitPrice: money('A part on SMS, a message elsewhere.'),
      price: Type.Number(),
    }),
    { description: 'In combined modes a recipient counts for each channel that the estimate pays for.' },
  ),
});
