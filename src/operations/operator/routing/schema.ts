import { Type } from 'typebox';
import { channelName, id, instant, orNull } from '../../../platform/lib/schema.ts';
import { amount, NumberField, PrefixField } from '../fields.ts';

const OnUnknown = Type.Enum(['hold', 'resubmit'], {
  type: 'string',
  description: 'Action for a single send whose submit got no response: wait for a receipt, or send it once more.',
});

const Time = (description: string) =>
  Type.String({ pattern: String.raw`^\d\d:\d\d$`, description, 'x-message': 'must be HH:MM' });

const Hours = Type.Object(
  {
    from: Time('The first minute, such as 08:00.'),
    to: Time('The minute after the last one, up to 24:00. Before `from`: the hours end on the next day.'),
    timeZone: Type.String({ maxLength: 64, description: 'A time zone of the IANA database, such as Europe/Rome.' }),
    weekdays: Type.Array(Type.Integer({ minimum: 1, maximum: 7 }), {
      minItems: 1,
      maxItems: 7,
      description: 'The days on which the hours begin, in order: 1 is Monday, 7 Sunday.',
    }),
  },
  { description: 'Time at which the message is sent, in a time zone.' },
);

const NetworkField = Type.String({
  pattern: String.raw`^\d{5,6}$`,
  description: 'MCC and MNC of the network of the number, such as 22201.',
  'x-message': 'must be MCC and MNC: 5 or 6 digits, such as 22201',
});
const SenderField = Type.String({
  minLength: 1,
  maxLength: 20,
  description: 'The sender of the message, in any case.',
});
const Weight = Type.Integer({
  minimum: 1,
  maximum: 1000,
  description:
    'Its part of the traffic of the routes with the same prefix and priority that have a weight. These go before those ' +
    'without one.',
});

const conditions = {
  weight: orNull(Weight),
  network: orNull(NetworkField),
  accountId: orNull(id('The account that sends.')),
  sender: orNull(SenderField),
  hours: orNull(Hours),
};

const facts = {
  id: Type.Integer(),
  channel: channelName(),
  prefix: Type.String({
    description:
      'The longest prefix that matches a number, with a route whose conditions are met, decides. Empty: all numbers.',
  }),
  connection: Type.String(),
  priority: Type.Integer({ description: 'Lower numbers go first.' }),
  onUnknown: OnUnknown,
  ...conditions,
};

export const RouteOut = Type.Object({
  ...facts,
  order: Type.Integer({
    description: 'The place among the routes of one prefix, from 1. Each is used when the routes before it fail.',
  }),
  connectionUp: Type.Boolean(),
});

export const RouteIn = Type.Object({
  channel: Type.Enum(['SMS'], {
    type: 'string',
    description: 'On RCS and WhatsApp the sender decides the connection.',
  }),
  prefix: PrefixField,
  connection: Type.String({ maxLength: 63, description: 'The name of a connection.' }),
  priority: Type.Optional(Type.Integer({ minimum: -1_000_000, maximum: 1_000_000, description: 'Default: 100.' })),
  onUnknown: Type.Optional(OnUnknown),
  ...Type.Partial(Type.Object(conditions)).properties,
});

export const CheckQuery = Type.Object({ number: NumberField });

export const ExplainQuery = Type.Object({
  number: NumberField,
  accountId: Type.Optional(id('The account that sends.')),
  sender: Type.Optional(SenderField),
  network: Type.Optional(NetworkField),
  at: Type.Optional(instant('Time of sending; default: now.')),
});

export const ExplainOut = Type.Object({
  prefix: orNull(Type.String({ description: 'The prefix that decides; null: the message would be rejected.' })),
  policyId: orNull(Type.Integer({ description: 'The policy that orders the routes; null: they go by priority.' })),
  reason: orNull(Type.String({ description: 'Explanation in words why the first route is used.' })),
  data: Type.Array(
    Type.Object({
      ...facts,
      place: orNull(Type.Integer({ description: 'The place in which it is tried, from 1; null: it is not used.' })),
      obstacles: Type.Array(
        Type.Enum(['network', 'account', 'sender', 'hours', 'prefix', 'sandbox'], { type: 'string' }),
        {
          description:
            'Reason why it is not used: a condition that is not met; `prefix`: another prefix decides; `sandbox`: ' +
            'it leads to the sandbox and the best route to a real carrier, or the other way round.',
        },
      ),
      cost: orNull(amount('Charge of the carrier for a part; null: no cost is set.')),
      standing: orNull(
        Type.Enum(['good', 'trial', 'below'], {
          type: 'string',
          description:
            'By the policy: at the floor of quality or above; too few samples; below. Null: no policy orders it.',
        }),
      ),
      samples: Type.Integer({
        description: 'Recent sample of messages over this connection to this country.',
      }),
      delivered: orNull(Type.Number({ description: 'The share of them that was delivered within five minutes.' })),
      receiptSeconds: orNull(Type.Number({ description: 'Average time until their receipts.' })),
    }),
    { description: 'The routes that begin like the number: first those that are used, in their order.' },
  ),
});
