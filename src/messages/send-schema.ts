import { type Static, Type } from 'typebox';
import { MAX_MESSAGE_TLVS, MAX_TLV_OCTETS, TAG_FORM, TLV_TYPES } from '../channels/message-tlvs.ts';
import type { StatusName } from '../core/message-state.ts';
import { textWithAmounts } from '../core/money.ts';
import { NUMBER_FAULTS, USER_ID_FORM } from '../core/phone.ts';
import { channelName, instant, orNull, purposeSchema } from '../core/schema.ts';
import { ENCODINGS } from './smart-encoding.ts';

/** Whatever is not a name or an address: `readNumber` also reads marks and digits that copied numbers bring along. */
const NUMBER_FORM = '[^A-Za-z@]{3,100}';

export const PhoneNumber = Type.String({
  pattern: `^${NUMBER_FORM}$`,
  description:
    'E.164: a plus sign (or 00), the country code and the number, 7 to 15 digits in all. A number without a country ' +
    'code is read as one of the default country of the account, and rejected (400) if the account has none.',
  'x-message': NUMBER_FAULTS.not_a_number,
});
export const WhatsappPerson = Type.String({
  pattern: `^(${NUMBER_FORM}|${USER_ID_FORM})$`,
  description:
    `A number as on other channels, or the user id of a person who shows none, as inbound messages contain it, for ` +
    'example US.13491208655302741918. Codes (AUTHENTICATION) and fallbacks need a number.',
  'x-message': `${NUMBER_FAULTS.not_a_number}, or a user id like US.13491208655302741918`,
});
export const Sender = Type.String({
  pattern: '^(\\+?[0-9]{1,16}|pool:[a-z0-9-]{1,20}|(?=.*[A-Za-z])[A-Za-z0-9 !"#$%&\'()*+,\\-./:;<=>?_]{1,11})$',
  description:
    '1 to 11 letters and digits, a number of up to 16 digits, a short code, or `pool:NAME` for a pool of numbers, of which ' +
    'each recipient always gets the same one.',
  'x-message': 'must be 1 to 11 letters and digits with a letter among them, or up to 16 digits',
});
export const Text = Type.String({
  minLength: 1,
  maxLength: 1530,
  description: 'At most 10 parts: 1,530 characters of GSM 03.38, or 670 of UCS-2.',
});
/** Maximum characters of a client's own message id. */
export const MAX_CLIENT_ID_LENGTH = 255;
const ClientId = Type.String({
  minLength: 1,
  maxLength: MAX_CLIENT_ID_LENGTH,
  description:
    'Your own reference, unique for 24 hours. A repeat with the same content sends nothing and gets the first response; ' +
    'a repeat with other content is a conflict (409).',
});
/** The client's own id in bodies whose first name for it was messageId. */
export const clientIdFields = {
  customerMessageId: Type.Optional(ClientId),
  messageId: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: MAX_CLIENT_ID_LENGTH,
      description: 'Another name of customerMessageId.',
    }),
  ),
};
const Simulation = Type.Optional(
  Type.Boolean({
    description:
      'Goes to no carrier and costs nothing. The last digits of the number choose the final state: 0001 UNDELIVERABLE, ' +
      '0002 EXPIRED, 0003 REJECTED, 0004 none, 0005 DELIVERED after 30 s; any others DELIVERED after about 1 s.',
  }),
);
const HEADER_RULES =
  'with its length byte first, for example 0500035c0201. The body is sent behind it in its own alphabet, GSM 03.38 or ' +
  'UCS-2, and both must fit into one message: one part, which you may concatenate yourself.';
const Hex = (description: string) =>
  Type.String({ pattern: '^([0-9A-Fa-f]{2}){0,140}$', description, 'x-message': 'must be hex, at most 140 bytes' });

/** Maximum minutes for which an SMS can be valid: three days. */
export const MAX_VALIDITY_MINUTES = 4320;
const ValidityPeriod = Type.Optional(
  Type.Integer({
    minimum: 1,
    maximum: MAX_VALIDITY_MINUTES,
    description: 'Minutes until the message is no longer delivered.',
  }),
);

export const purposeFields = {
  purpose: Type.Optional(
    purposeSchema(
      'By default that of a WhatsApp template or of the traffic type on RCS, then that of the API key or the account. Routes, ' +
        'marketing stops and the calendar go by it.',
    ),
  ),
  respectCalendar: Type.Optional(
    Type.Boolean({
      description:
        'True: a marketing message, or one without a purpose, waits for the hours that the rules of the recipient’s country ' +
        'allow. The account may require that of all its marketing messages.',
    }),
  ),
};

export const clientFields = {
  metadata: Type.Optional(
    Type.Record(Type.String({ pattern: '^[A-Za-z0-9_.-]{1,40}$' }), Type.String({ maxLength: 255 }), {
      maxProperties: 10,
      description:
        'Up to 10 values of your own, such as an order number, which come back in events of format v2, the status and the timeline.',
    }),
  ),
  tags: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 50 }), {
      maxItems: 10,
      uniqueItems: true,
      description: 'Up to 10 words of your own, which come back as `metadata` does.',
    }),
  ),
  callbackUrl: Type.Optional(
    Type.String({
      maxLength: 2048,
      description:
        'Where the events of this message go instead of the URL of an endpoint at the same host, which must exist: types, ' +
        'filters, secret and retries are those of the oldest endpoint at that host.',
    }),
  ),
};

/** The parameters of SMPP that a message brings. */
export const Tlvs = Type.Array(
  Type.Object({
    tag: Type.String({ pattern: `^${TAG_FORM}$`, 'x-message': 'must be a tag such as 0x1400' }),
    type: Type.Optional(
      Type.Enum([...TLV_TYPES], {
        type: 'string',
        description: 'Form of the value: `cstring` (default), `octets` (bytes in hexadecimal), or an unsigned integer.',
      }),
    ),
    value: Type.String({ maxLength: 2 * MAX_TLV_OCTETS }),
  }),
  {
    maxItems: MAX_MESSAGE_TLVS,
    description:
      'Optional parameters of SMPP for the carrier, of up to 255 bytes each, such as 0x1400 and 0x1401 for the ids that ' +
      'operators in India require (DLT). The account may send the tags that its operator allows.',
  },
);

export const encodingSchema = Type.Enum([...ENCODINGS], {
  type: 'string',
  description:
    '`auto` (default): GSM 03.38 if it has every character, else UCS-2. `smart`: typographic quotes, dashes, spaces and the like ' +
    'are replaced if the text then fits into GSM 03.38; not for codes (otp) and not to India. `strict`: a text outside GSM 03.38 ' +
    'is rejected.',
});

/** A character that `smart` replaced, and how often. */
export const ReplacedOut = Type.Object({ from: Type.String(), to: Type.String(), count: Type.Integer() });

/** Fields of both send bodies for the way in which the message is sent. */
const sendOptions = {
  placeholders: Type.Optional(
    Type.Record(Type.String(), Type.String({ maxLength: 500 }), {
      description: 'Values for `{{name}}` in the body. `{{optout}}` needs none: it is a link to opt out.',
    }),
  ),
  udhData: Type.Optional(Hex(`User data header in hex, ${HEADER_RULES}`)),
  enableNotification: Type.Optional(Type.Boolean({ description: 'Ask for a delivery receipt (default true).' })),
  scheduledDate: Type.Optional(
    Type.String({
      description: 'yyyy-MM-dd HH:mm:ss.SSSZ, for example 2027-01-31 09:00:00.000+0100, or ISO 8601 with an offset.',
    }),
  ),
  validityPeriod: ValidityPeriod,
  simulation: Simulation,
  ...purposeFields,
  encoding: Type.Optional(encodingSchema),
  tlvs: Type.Optional(Tlvs),
  ...clientFields,
};

/** The specification's body of a send. */
const UserIp = Type.Optional(
  Type.String({
    maxLength: 64,
    description:
      'With the purpose `otp`: the address of the user who asked for the code. The guard against SMS pumping then decides about ' +
      'the message (403 `verification_blocked`, 429 `cost_cap`): that of the verify service named `default`, or the standard one.',
  }),
);

export const SendIn = Type.Object({
  userIp: UserIp,
  phoneNumber: PhoneNumber,
  message: Text,
  senderName: Type.Optional(Sender),
  sender: Type.Optional({ ...Sender, description: 'Another name of senderName.' }),
  customerMessageId: Type.Optional(ClientId),
  ...sendOptions,
});

/** The message server's own body of a send. */
export const MessageServerIn = Type.Object({
  // A body with a phoneNumber is the short one, whatever else it has, so its errors are reported in that form.
  phoneNumber: Type.Optional(Type.Never()),
  destination: PhoneNumber,
  sender: Sender,
  body: Text,
  ...clientIdFields,
  campaignId: Type.Optional(Type.Unknown({ description: 'Ignored: single messages belong to no campaign.' })),
  ...sendOptions,
});

/** The sender that replaced the requested one, because of a rule or a pool of numbers. */
const otherSender = {
  sender: Type.Optional(
    Type.String({ description: 'The sender used instead of the requested one; absent when that one is used.' }),
  ),
};

/** The rule of the calendar for which a message waits. */
export const HoldOut = Type.Object({
  until: instant('UTC; the message is sent then.'),
  rule: Type.String({ description: 'calendar.FR.sunday: the country or state, and what closes it.' }),
  source: orNull(Type.String({ description: 'The document with the rule; null for quiet hours.' })),
});
export const held = {
  held: Type.Optional({ ...HoldOut, description: 'Set if the message waits because of the calendar.' }),
};

export const Reasons = Type.Array(textWithAmounts('A reason.'));

const SmsResult = Type.Object({
  phoneNumber: Type.String(),
  accepted: Type.Boolean(),
  channel: channelName(),
  statusCode: Type.Integer({
    description:
      '200 accepted; 400 bad number, no route or no price; 401 sender not allowed; 402 no credit; 403 opted out.',
  }),
  reasons: Reasons,
  ...otherSender,
  ...held,
});

/** The response to the specification's body. */
export const SendOut = Type.Object(
  {
    messageId: orNull(Type.String({ description: 'Null when the message was rejected.' })),
    customerMessageId: orNull(Type.String()),
    simulation: Type.Boolean(),
    results: Type.Array(SmsResult),
  },
  { description: 'The message is committed. A rejected message has `accepted: false` and its reasons.' },
);

/** The response to the message server's own body. */
export const MessageServerOut = Type.Object(
  {
    messageId: orNull(Type.String({ description: 'Our id; a status query finds the message under your id as well.' })),
    customerMessageId: orNull(Type.String()),
    simulation: Type.Boolean(),
    results: Type.Object({
      sms: Type.Object({
        accepted: Type.Boolean(),
        unicode: Type.Boolean(),
        parts: Type.Integer(),
        reasons: Reasons,
        ...otherSender,
        ...held,
      }),
    }),
  },
  { description: 'The message is committed. A rejected message has `accepted: false` and its reasons.' },
);

export const BulkIn = Type.Object({
  globalId: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      description:
        'Your id of this request, unique for 24 hours. A repeat with the same body sends nothing and gets the first ' +
        'response; a repeat with another body is a conflict (409).',
    }),
  ),
  simulation: Simulation,
  enableConcatenated: Type.Optional(Type.Boolean({ description: 'Allow texts with several parts (default true).' })),
  enableUnicode: Type.Optional(Type.Boolean({ description: 'Allow texts outside GSM 03.38 (default true).' })),
  enableDelivery: Type.Optional(Type.Boolean({ description: 'Ask for delivery receipts (default true).' })),
  ...purposeFields,
  encoding: Type.Optional(encodingSchema),
  ...clientFields,
  messages: Type.Array(
    Type.Object({
      destinations: Type.Array(Type.String(), { minItems: 1 }),
      ids: Type.Optional(Type.Array(ClientId, { description: 'Your references, one for each destination.' })),
      customerMessageId: Type.Optional({
        ...ClientId,
        description: 'Your reference of a message with one destination. For several, use ids.',
      }),
      sender: Sender,
      body: Type.Optional(Type.String()),
      hexBody: Type.Optional(Hex('Bytes to send instead of a text, in hex.')),
      udhData: Type.Optional(Hex(`User data header in hex, for \`body\` or \`hexBody\`, ${HEADER_RULES}`)),
      validityPeriod: ValidityPeriod,
      purpose: purposeFields.purpose,
      metadata: clientFields.metadata,
      tags: clientFields.tags,
      // In here it would be overlooked, and the message would really be sent.
      simulation: Type.Optional(
        Type.Never({ 'x-message': 'applies to the whole request: write it next to messages, not inside one' }),
      ),
      scheduling: Type.Optional(
        Type.String({ description: 'The messages are not sent before this time, in the format of scheduledDate.' }),
      ),
    }),
    { minItems: 1 },
  ),
});

export const BULK_EXAMPLE: Static<typeof BulkIn> = {
  globalId: 'reminders-2027-01-31',
  messages: [
    { sender: 'ACME', body: 'Your appointment is tomorrow', destinations: ['+393331234567', '+393331234568'] },
    { sender: 'ACME', body: 'Your order is ready', destinations: ['+61491570156'], ids: ['order-4714'] },
  ],
};

export const BulkOut = Type.Object(
  {
    globalId: orNull(Type.String({ description: 'The id from the request; null when it had none.' })),
    accepted: Type.Integer({ description: 'Number of accepted destinations.' }),
    results: Type.Array(
      Type.Object({
        destination: Type.String(),
        id: orNull(Type.String({ description: 'Our id; null when the message was rejected.' })),
        customerMessageId: Type.Optional(Type.String({ description: 'Your id, if the request had one.' })),
        accepted: Type.Boolean(),
        statusCode: Type.Integer({
          description:
            '200 accepted; 400 bad destination or body, no route or no price; 402 no credit; 403 opted out; 409 id used ' +
            'for other content; 401 sender not allowed. Reserved for later: 429 throttled.',
        }),
        reason: Type.Optional(textWithAmounts('Reason for the rejection; absent when it was accepted.')),
        ...otherSender,
        ...held,
      }),
      { description: 'In the order of the request.' },
    ),
  },
  { description: 'The accepted messages are committed.' },
);

export type SendIn = Static<typeof SendIn>;
export type MessageServerIn = Static<typeof MessageServerIn>;
export type BulkIn = Static<typeof BulkIn>;

const seconds = (description: string) => Type.Integer({ minimum: 30, maximum: 172_800, description });
/** The failures after which the next channel is tried. DELETED is not one of them: a user cancelled the message. */
const FAILURES: string[] = [
  'REJECTED',
  'EXPIRED',
  'UNDELIVERABLE',
  'ERROR',
  'DISABLED',
  'UNSUPPORTED',
  'CONVERSATION_CLOSED',
] satisfies StatusName[];

/** Conditions for trying the next channel, in campaigns and in single sends. */
export const Fallback = Type.Object(
  {
    after: Type.Optional(
      Type.Object({
        WHATSAPP: Type.Optional(seconds('Seconds (default 3600).')),
        RCS: Type.Optional(seconds('Seconds (default 300).')),
      }),
    ),
    maxWait: Type.Optional(
      seconds(
        'Maximum seconds that a message may wait until its carrier takes it, pauses and throttling included (default 172800). ' +
          'Then the next channel is tried, and this one counts as not tried.',
      ),
    ),
    onStatus: Type.Optional(
      Type.Array(Type.Enum(FAILURES, { type: 'string' }), {
        maxItems: 20,
        description: 'The failures after which the next channel is tried (default: all).',
      }),
    ),
  },
  {
    description:
      'Conditions for trying the next of several channels: after a message fails, or has not been delivered within this time ' +
      'after its carrier took it. The time stands still while a message waits in the queue, is throttled or is paused. A ' +
      'message with an unknown outcome is never followed by another one.',
  },
);
