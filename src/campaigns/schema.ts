import { type Static, Type } from 'typebox';
import { PLACEHOLDERS } from '../contacts/contact-fields.ts';
import { shownAmount } from '../core/money.ts';
import { id, instant, orNull, purposeSchema } from '../core/schema.ts';
import { encodingSchema, Fallback, Tlvs } from '../messages/send-schema.ts';
import { trafficType } from '../templates/schema.ts';
import { SENDING_MODES } from './audience.ts';
import { HeldOut } from './hours.ts';
import { QuietHours } from './policy.ts';

/** Maximum lists of a campaign. */
export const MAX_LISTS = 1000;
/** Maximum numbers that a campaign names next to its lists. */
export const MAX_DESTINATIONS = 100_000;

const optional = <S extends Type.TSchema>(schema: S) => Type.Optional(orNull(schema));

const SendingMode = Type.Enum([...SENDING_MODES], {
  type: 'string',
  description: 'A combined mode tries its channels in the order of its name, until one delivers.',
});

export const Hours = Type.Union([QuietHours, Type.Object({ off: Type.Literal(true) })], {
  description: 'Replaces the quiet hours of the account; `{ "off": true }`: none.',
});

export const LocalTimeIn = Type.Object(
  {
    at: Type.String({
      pattern: '^\\d{4}-\\d{2}-\\d{2}T([01]\\d|2[0-3]):[0-5]\\d$',
      'x-message': 'must be a date and time without a zone, such as 2027-01-31T10:00',
      description: 'Date and time without a zone, such as 2027-01-31T10:00.',
    }),
    passed: Type.Optional(
      Type.Enum(['tomorrow', 'now', 'skip'], {
        type: 'string',
        description:
          'For people whose clocks are beyond it when the campaign is confirmed: a day later (default), immediately, or not ' +
          'at all.',
      }),
    ),
  },
  {
    description:
      'Each recipient gets the message when it is this time where they are, as far as the number shows: zone by zone. The ' +
      'campaign starts by itself, so there is no scheduledDate.',
  },
);

const settings = {
  description: Type.Optional(Type.String({ maxLength: 1000 })),
  smsSender: optional(Type.String({ maxLength: 25, description: 'Required for SMS.' })),
  smsBody: optional(
    Type.String({
      maxLength: 5000,
      description:
        'Required for SMS. `{{field}}` or `{{field|default}}` is replaced by a field of the contact: ' +
        `${PLACEHOLDERS.join(', ')} or a custom field. \`{{optout}}\` is a link to opt out.`,
    }),
  ),
  rcsAgentId: optional(Type.String({ maxLength: 128, description: 'Required for RCS.' })),
  rcsTemplateId: optional(Type.String({ maxLength: 64, description: 'Required for RCS.' })),
  rcsTrafficType: optional(trafficType('Use of the RCS messages; by default that of the template.')),
  whatsappPhoneNumberId: optional(Type.String({ maxLength: 128, description: 'Required for WhatsApp.' })),
  whatsappTemplateId: optional(Type.String({ maxLength: 64, description: 'Required for WhatsApp.' })),
  destinationType: optional(
    Type.Enum([1, 2], {
      type: 'integer',
      description: '1 contact lists, 2 destinations. Default: whichever of the two is given.',
    }),
  ),
  contactListIds: Type.Optional(Type.Array(id(), { maxItems: MAX_LISTS })),
  destinations: Type.Optional(
    Type.Array(Type.String({ maxLength: 50 }), {
      maxItems: MAX_DESTINATIONS,
      description: 'Phone numbers. Those that are not valid are counted as skipped.',
    }),
  ),
  scheduledDate: optional(
    Type.String({
      maxLength: 40,
      description:
        '`yyyy-MM-dd HH:mm:ss.SSSZ` or ISO 8601 with an offset. Without a date, it is sent when it is confirmed.',
    }),
  ),
  readyToSend: Type.Optional(Type.Boolean({ description: 'False (the default): the campaign is a draft.' })),
  fallback: optional(Fallback),
  quietHours: optional(Hours),
  purpose: optional(
    purposeSchema(
      'By default that of the WhatsApp template, of the traffic type on RCS, or of the account. Routes and the calendar go by it.',
    ),
  ),
  respectCalendar: optional(
    Type.Boolean({
      description:
        'True: messages wait for the hours that the rules of the recipient’s country allow for marketing. By default true if ' +
        '`purpose` is marketing; the account may require it of all marketing.',
    }),
  ),
  localTime: optional(LocalTimeIn),
  weeklyCap: optional(
    Type.Integer({
      minimum: 1,
      maximum: 1000,
      description:
        'The most marketing messages that a recipient gets in seven days, this one included; others are skipped. The account ' +
        'may have a lower one.',
    }),
  ),
  encoding: optional(encodingSchema),
  tlvs: optional(Tlvs),
  rate: optional(
    Type.Integer({ minimum: 1, maximum: 100_000, description: 'The maximum number of recipients per second.' }),
  ),
};

const name = Type.String({ minLength: 1, maxLength: 200 });

export const CampaignIn = Type.Object({ name, sendingMode: SendingMode, ...settings });
export type CampaignIn = Static<typeof CampaignIn>;
export const CampaignPatch = Type.Partial(CampaignIn);
export type CampaignPatch = Static<typeof CampaignPatch>;

export const ApplyIn = Type.Object({
  ...CampaignPatch.properties,
  maxPrice: Type.Optional(
    Type.Number({ minimum: 0, description: 'If the maximum cost of the campaign would exceed this, nothing changes.' }),
  ),
});
export type ApplyIn = Static<typeof ApplyIn>;

export const CampaignId = Type.Object({ id: id() });

const count = (description: string) => Type.Integer({ description });
const money = (description: string) => Type.Number({ description });

/** Number of skipped recipients for each reason. */
export const Skipped = Type.Object(
  {
    invalid: count('There is no number, or it is not valid.'),
    unsupported: count('None of the channels reaches the number.'),
    optedOut: count('The number has opted out of all the channels.'),
    text: count('The text is empty for this recipient, or longer than 10 parts.'),
    noRoute: count('There is no route to the number.'),
    noPrice: count('The price list has no price for the number.'),
    duplicate: count('The same number is in another list, or was given again; not in `totalSkipped`.'),
  },
  { description: 'Number skipped for each reason, as counted by calculateGoal. Later changes are not included.' },
);

export const CAMPAIGN_EXAMPLE: Static<typeof CampaignIn> = {
  name: 'Summer sale',
  sendingMode: 'SMS',
  smsSender: 'ACME',
  smsBody: 'Hello {{firstName|there}}, our sale has begun',
  contactListIds: [1],
};

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
  rcsTrafficType: orNull(trafficType('Null: that of the template.')),
  whatsappPhoneNumberId: orNull(Type.String()),
  whatsappTemplateId: orNull(Type.String()),
  contactListIds: Type.Array(Type.Integer()),
  destinations: Type.Optional(
    Type.Array(Type.String(), { description: 'The numbers as they were given. Omitted in lists of campaigns.' }),
  ),
  destinationType: orNull(Type.Integer()),
  scheduledDate: orNull(Type.String({ description: '`yyyy-MM-dd HH:mm:ss.SSSZ`, in UTC.' })),
  readyToSend: Type.Boolean(),
  fallback: Fallback,
  quietHours: orNull(Hours),
  purpose: orNull(purposeSchema('Null: that of the WhatsApp template, of the traffic type on RCS, or of the account.')),
  respectCalendar: orNull(Type.Boolean({ description: 'Null: if `purpose` is marketing.' })),
  localTime: orNull(LocalTimeIn),
  weeklyCap: orNull(Type.Integer()),
  encoding: orNull(encodingSchema),
  tlvs: orNull(Tlvs),
  held: Type.Array(HeldOut, {
    description:
      'Who waits for the hours of the calendar: until the start, if it begins at its time or now; then those without a ' +
      'message. In the order of `until`.',
  }),
  rate: orNull(Type.Integer()),
  totalDestinations: count('Distinct recipients, as calculateGoal counted them.'),
  totalSuccess: count('Recipients to whom a message was delivered.'),
  totalFailed: count('Recipients who have a final result and were not reached, without the cancelled ones.'),
  totalDeliveredTwice: count(
    'Recipients of combined modes who got messages on two channels: the first was delivered after its time. Counted once in `totalSuccess`.',
  ),
  totalPending: count('Recipients who are neither delivered, failed, skipped nor cancelled yet.'),
  totalSkipped: count(
    'Recipients to whom nothing is sent: those in `skipped`, and those for whom a reason came up later (no route any ' +
      'more, a new opt-out, no credit, a suspended account). `GET /campaigns/{id}/recipients` has the reason of each.',
  ),
  totalCancelled: count(
    'Recipients whose message the cancellation withdrew, or who got none because of it. `totalSuccess`, `totalFailed`, ' +
      '`totalPending`, `totalSkipped` and `totalCancelled` always add up to the same number.',
  ),
  skipped: orNull(Skipped),
  overWeeklyCap: orNull(
    Type.Integer({
      description:
        'Recipients in `totalDestinations` who, as far as calculateGoal could know, are skipped when their turn comes: they ' +
        'have had as many marketing messages within seven days as `weeklyCap` or the account allows.',
    }),
  ),
  progress: Type.Number({ description: '0 to 1: the share of recipients with a final result.' }),
  ratePerSecond: orNull(
    Type.Number({
      description:
        'Messages given to carriers per second, over about the last minute. Null while the campaign is not being sent, ' +
        'and in responses to changes.',
    }),
  ),
  estimatedSecondsLeft: orNull(
    Type.Integer({
      description:
        'Until everything is sent; in combined modes until all recipients have a final result. Null while nothing is sent.',
    }),
  ),
  openMessages: count('Messages without a final status: they wait here, or for the report of a carrier.'),
  completesBy: orNull(
    instant(
      'UTC; time at which the last open message is given up, 72 hours after it was created, and the campaign is completed ' +
        'at the latest. One phone that is switched off keeps a campaign at status 2 until then. Later in combined modes if ' +
        'another channel follows. Null while messages are still being created, and when none is open.',
    ),
  ),
  estimatedCost: shownAmount(
    'The maximum cost, frozen at the confirmation. In combined modes, a message that is delivered after its time is ' +
      'charged in addition to the one on the next channel.',
  ),
  actualCost: shownAmount('The cost so far.'),
  currency: Type.String(),
  goalCalculatedAt: orNull(instant()),
  failureReason: orNull(Type.String({ description: 'Reason why the campaign failed or is paused.' })),
  paused: Type.Boolean({ description: 'Never together with `cancelled`.' }),
  cancelled: Type.Boolean(),
  createdAt: instant(),
  updatedAt: instant(),
  confirmedAt: orNull(instant()),
  startedAt: orNull(instant()),
  completedAt: orNull(instant()),
});

export const PriceOut = Type.Object({
  campaignId: Type.Integer(),
  price: money('0 if it was never calculated.'),
  currency: Type.String(),
  totalDestinations: Type.Integer(),
  calculated: Type.Boolean({ description: 'False: it was never calculated, or something has changed since.' }),
  calculatedAt: orNull(instant()),
  breakdown: Type.Array(
    Type.Object({
      channel: Type.String(),
      country: Type.String({ description: 'ISO 3166-1 alpha-2; empty if the numbers belong to no country.' }),
      parts: Type.Integer(),
      count: Type.Integer(),
      unitPrice: money('Per part on SMS, per message on other channels.'),
      price: Type.Number(),
    }),
    { description: 'In combined modes, a recipient counts for each channel that the estimate includes.' },
  ),
});
