import { type Static, Type } from 'typebox';
import { orNull } from '../../../platform/lib/schema.ts';

const Minute = (description: string) => Type.Integer({ minimum: 0, maximum: 1440, description });

const ASSIGNMENTS = ['MANUAL', 'ROUND_ROBIN'] as const;

export const InboxSettings = Type.Object({
  assignment: Type.Enum([...ASSIGNMENTS], {
    type: 'string',
    description:
      'ROUND_ROBIN: an unassigned conversation goes to the available user who has waited longest, when the person writes.',
  }),
  closedAnswer: orNull(
    Type.String({
      minLength: 1,
      maxLength: 1000,
      pattern: String.raw`\S`,
      'x-message': 'must not be empty',
      description:
        'The automatic answer outside the opening hours, once for each conversation and closed period. Automatic messages ' +
        'and messages such as STOP are not answered. Null: none.',
    }),
  ),
  timeZone: Type.String({ maxLength: 64, description: 'Of the IANA database, such as Europe/Rome.' }),
  openHours: Type.Array(
    Type.Object({
      weekday: Type.Integer({ minimum: 1, maximum: 7, description: '1 is Monday, 7 Sunday.' }),
      from: Minute('The minute of the day at which it opens.'),
      to: Minute('The minute of the day at which it closes; 1440 is the end of the day.'),
    }),
    { maxItems: 50, description: 'Opening hours of the account. None: always open.' },
  ),
});
export type InboxSettings = Static<typeof InboxSettings>;

export const Availability = Type.Object({
  available: Type.Boolean({ description: 'True if the rule may assign new conversations to you.' }),
});
