import { Type } from 'typebox';
import { fromMicros } from '../../../platform/lib/money.ts';
import { amount } from '../fields.ts';
import type { Margin } from './sql.ts';

/** The fields of a margin in responses. */
export const marginFigures = {
  messages: Type.Integer({ description: 'Messages that the carrier accepted, or may have accepted.' }),
  units: Type.Integer({ description: 'Units by which carriers count them: parts on SMS.' }),
  uncosted: Type.Integer({ description: 'Those of `messages` whose cost was not known when they were sent.' }),
  earned: amount('Revenue of them so far, in currency units; refundable prices are earned with the delivery.'),
  cost: amount('Charges of carriers for them, in currency units, at the costs that were valid then.'),
  margin: amount('`earned` less `cost`.'),
};

export const MarginFigures = Type.Object(marginFigures);

/** Writes a margin with amounts in currency units. */
export const toMarginOut = ({ earnedMicros, costMicros, ...counts }: Margin) => ({
  ...counts,
  earned: fromMicros(earnedMicros),
  cost: fromMicros(costMicros),
  margin: fromMicros(earnedMicros - costMicros),
});
