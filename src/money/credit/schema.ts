import { Type } from 'typebox';

export const CreditOut = Type.Object({
  credit: Type.Number({ description: 'Available and frozen together.' }),
  frozenCredit: Type.Number({ description: 'Reserved for messages without a final outcome.' }),
  availableCredit: Type.Number(),
  currency: Type.String(),
});
