import { Type } from 'typebox';

export const CreditOut = Type.Object({
  credit: Type.Number({ description: 'Available and frozen together.' }),
  frozenCredit: Type.Number({ description: 'Reserved for messages whose outcome is open.' }),
  availableCredit: Type.Number(),
  currency: Type.String(),
});
