import { Type } from 'typebox';
import { SECOND_FACTOR_POLICIES } from './sql.ts';

const MAX_BLOCKS = 200;
/** The longest notation of an address with its mask, and room for spaces. */
const MAX_LENGTH = 100;

const enforced = Type.Boolean({ description: 'True if requests from other addresses are rejected (403).' });

const secondFactor = () =>
  Type.Enum([...SECOND_FACTOR_POLICIES], {
    type: 'string',
    description:
      'Requirement of a second factor for users. If `required`, users without one can only add one, and ' +
      'passwords are not accepted with Basic. API keys are not affected.',
  });

export const SecurityIn = Type.Object({
  ipAllowList: Type.Array(Type.String({ maxLength: MAX_LENGTH }), {
    maxItems: MAX_BLOCKS,
    description: 'IPv4 and IPv6 addresses and CIDR blocks. Replaces the list.',
  }),
  enforced,
  secondFactor: Type.Optional(secondFactor()),
  force: Type.Optional(
    Type.Boolean({ description: 'Accept a list that does not contain your own address. False by default.' }),
  ),
});

export const SecurityOut = Type.Object({
  ipAllowList: Type.Array(Type.String(), { description: 'CIDR blocks in their canonical form.' }),
  enforced,
  secondFactor: secondFactor(),
  callerAddress: Type.String({
    description: 'The address of this request, in the form that is compared with the list.',
  }),
});
