import { Type } from 'typebox';

const time = (description: string) =>
  Type.String({ pattern: '^([01]\\d|2[0-3]):[0-5]\\d$', 'x-message': 'must be a time such as 21:00', description });

/** Quiet hours; they span midnight when `to` is earlier than `from`. */
export const QuietHours = Type.Object({
  from: time('In the time zone of the recipient, which follows from the country of the number.'),
  to: time('The first minute that is not quiet.'),
});

const quietHours = Type.Union([QuietHours, Type.Null()], {
  description: 'Hours in which campaigns send nothing, unless a campaign has its own quiet hours. Null: none.',
});
const smsSenders = Type.Union([Type.Array(Type.String({ maxLength: 20 }), { maxItems: 1000 }), Type.Null()], {
  description: 'The senders that campaigns may use on SMS. Null: any.',
});

export const PolicyIn = Type.Object({ quietHours: Type.Optional(quietHours), smsSenders: Type.Optional(smsSenders) });
export const PolicyOut = Type.Object({ quietHours, smsSenders });
