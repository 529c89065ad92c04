import { Type } from 'typebox';

const time = (description: string) =>
  Type.String({ pattern: '^([01]\\d|2[0-3]):[0-5]\\d$', 'x-message': 'must be a time such as 21:00', description });

/** Over midnight when `to` is the earlier one. */
export const QuietHours = Type.Object({
  from: time('In the time of the recipient, which the country of the number tells.'),
  to: time('The first minute that is not quiet.'),
});

const quietHours = Type.Union([QuietHours, Type.Null()], {
  description: 'When recipients of campaigns are left alone, unless a campaign says otherwise. Null: never.',
});
const smsSenders = Type.Union([Type.Array(Type.String({ maxLength: 20 }), { maxItems: 1000 }), Type.Null()], {
  description: 'The senders that campaigns may have on SMS. Null: any.',
});

export const PolicyIn = Type.Object({ quietHours: Type.Optional(quietHours), smsSenders: Type.Optional(smsSenders) });
export const PolicyOut = Type.Object({ quietHours, smsSenders });
