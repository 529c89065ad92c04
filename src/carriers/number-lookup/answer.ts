import Type, { type Static } from 'typebox';

const Place = (description: string) =>
  Type.Optional(Type.String({ pattern: '^(/|header:[A-Za-z0-9-]|text:.*\\*)', maxLength: 500, description }));

/** Rules for reading the response of a lookup service. */
export const LookupAnswer = Type.Object(
  {
    network: Place('Place of MCC and MNC together, such as 22201.'),
    mcc: Place('Place of the mobile country code.'),
    mnc: Place('Place of the mobile network code.'),
    ported: Place('Place of the porting flag.'),
    portedIs: Type.Optional(
      Type.Array(Type.String({ maxLength: 100 }), { minItems: 1, description: 'Values there that mean yes.' }),
    ),
  },
  {
    description: 'Places in the response. A place is a JSON pointer, `header:name`, or `text:before*after`.',
    additionalProperties: false,
  },
);
export type LookupAnswer = Static<typeof LookupAnswer>;
