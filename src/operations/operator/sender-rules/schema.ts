import { Type } from 'typebox';
import { ALPHANUMERIC_POLICIES, type NumberPool, type RegisteredSender } from '../../../network/sender-rules/sql.ts';
import { orNull } from '../../../platform/lib/schema.ts';
import { accountIdField, PrefixField } from '../fields.ts';

const Prefix = Type.String({ description: 'Leading digits without the plus sign. Empty: all numbers.' });

const Policy = Type.Enum([...ALPHANUMERIC_POLICIES], {
  type: 'string',
  description: 'Treatment of senders with letters that are not registered for the numbers.',
});

export const RuleOut = Type.Object({
  id: Type.Integer(),
  prefix: Prefix,
  alphanumeric: Policy,
  replacement: orNull(
    Type.String({
      description: 'A sender or `pool:NAME`, instead of those that do not pass. Null: they are rejected.',
    }),
  ),
  registeredOnly: Type.Boolean({ description: 'True if numbers, too, pass only if they are registered.' }),
});

export const RuleIn = Type.Object({
  prefix: PrefixField,
  alphanumeric: Policy,
  replacement: Type.Optional(orNull(Type.String({ minLength: 1, maxLength: 25 }))),
  registeredOnly: Type.Optional(Type.Boolean({ description: 'Default: false.' })),
});

const Owner = orNull(accountIdField);

export const RegisteredOut = Type.Object({
  id: Type.Integer(),
  prefix: Prefix,
  sender: Type.String(),
  accountId: orNull(Type.Integer({ description: 'The account that may use it; null: all accounts.' })),
  account: orNull(Type.String()),
});
export const RegisteredIn = Type.Object({
  prefix: PrefixField,
  sender: Type.String({ minLength: 1, maxLength: 17 }),
  accountId: Type.Optional(Owner),
});

export const PoolOut = Type.Object({
  id: Type.Integer(),
  name: Type.String({ description: 'Messages are sent from it as `pool:NAME`.' }),
  accountId: orNull(Type.Integer({ description: 'The account whose pool it is; null: all accounts.' })),
  account: orNull(Type.String()),
  numbers: Type.Array(Type.String()),
});
export const PoolIn = Type.Object({
  name: Type.String({
    pattern: '^[a-z0-9-]{1,20}$',
    'x-message': 'must have 1 to 20 lower-case letters, digits or hyphens',
  }),
  accountId: Type.Optional(Owner),
  numbers: Type.Array(Type.String({ maxLength: 17 }), { minItems: 1, maxItems: 1000 }),
});
export const PoolNumberIn = Type.Object({ number: Type.String({ maxLength: 17 }) });
export const PoolNumberOut = Type.Object({
  kept: Type.Integer({
    description: 'Number of recipients who keep another number, because they were written to from it.',
  }),
});

export const toRegistered = ({ ownerId: accountId, ...rest }: RegisteredSender) => ({ ...rest, accountId });
export const toPool = ({ id, name, ownerId: accountId, account, numbers }: NumberPool) => ({
  id,
  name,
  accountId,
  account,
  numbers,
});
