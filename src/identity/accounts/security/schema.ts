import { Type } from 'typebox';

const MAX_BLOCKS = 200;
/** The longest spelling of an address, its mask, and room for spaces. */
const MAX_LENGTH = 100;

const enforced = Type.Boolean({ description: 'Whether requests from other addresses are refused (403).' });

export const SecurityIn = Type.Object({
  ipAllowList: Type.Array(Type.String({ maxLength: MAX_LENGTH }), {
    maxItems: MAX_BLOCKS,
    description: 'IPv4 and IPv6 addresses and CIDR blocks. Replaces the list.',
  }),
  enforced,
  force: Type.Optional(
    Type.Boolean({ description: 'Also when your own address would be refused from then on. Default: false.' }),
  ),
});

export const SecurityOut = Type.Object({
  ipAllowList: Type.Array(Type.String(), { description: 'CIDR blocks in their canonical form.' }),
  enforced,
  callerAddress: Type.String({ description: 'The address that this request came from, as the list would judge it.' }),
});
