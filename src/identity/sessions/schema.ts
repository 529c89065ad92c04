import { type Static, Type } from 'typebox';
import { ROLES, SCOPES } from '../../platform/lib/scope.ts';
import { PLANS } from '../../platform/lib/plan.ts';
import type { SessionRow } from './sql.ts';
import { channelName, id, instant, orNull } from '../../platform/lib/schema.ts';

const Id = id();
const Role = (description: string) => Type.Enum([...ROLES], { type: 'string', description });
const ENDS = 'UTC, at the latest; earlier after 12 hours without a request.';

export const SignInBody = Type.Object({
  username: Type.String({ minLength: 1, maxLength: 200 }),
  password: Type.String({ minLength: 1, maxLength: 200 }),
});

export const SessionOut = Type.Object({
  user: Type.Object({
    id: Type.Integer(),
    username: Type.String(),
    role: Role('In their own account.'),
    isOperator: Type.Boolean({ description: 'Of the gateway: may look at every account.' }),
  }),
  account: Type.Object(
    {
      id: Type.Integer(),
      name: Type.String(),
      plan: Type.Enum([...PLANS], { type: 'string' }),
      channels: Type.Array(channelName()),
      currency: Type.String(),
      status: Type.Enum(['active', 'suspended'], { type: 'string' }),
    },
    { description: 'The account looked at: what every other request is about.' },
  ),
  ownAccountId: Type.Integer(),
  role: Role('In force now: in another account that of an owner.'),
  operations: Type.Array(Type.Enum([...SCOPES], { type: 'string' }), { description: 'The scopes in force now.' }),
  createdAt: instant('UTC'),
  expiresAt: instant(ENDS),
});

export const AccountIn = Type.Object({
  accountId: Type.Union([Id, Type.Null()], { description: 'null: back to your own.' }),
});

export const SessionParams = Type.Object({ id: Id });

export const sessionFilters = {
  userId: Type.Optional(id('Those of this person.')),
  all: Type.Boolean({ default: false, description: 'Those of everybody in the account.' }),
};

export const SessionEntry = Type.Object({
  id: Type.Integer(),
  userId: Type.Integer(),
  username: Type.String(),
  address: orNull(Type.String({ description: 'From where the person signed in.' })),
  userAgent: Type.String({ description: 'As the browser calls itself; at most 200 characters.' }),
  createdAt: instant('UTC'),
  lastSeenAt: instant('UTC, to the minute.'),
  expiresAt: instant(ENDS),
  current: Type.Boolean({ description: 'The one that asks.' }),
});

/** A session as lists show it, to the one of this id. */
export const toSessionEntry = (row: SessionRow, currentId: number | undefined): Static<typeof SessionEntry> => ({
  id: row.id,
  userId: row.userId,
  username: row.username,
  address: row.address,
  userAgent: row.userAgent,
  createdAt: row.createdAt.toISOString(),
  lastSeenAt: row.lastSeenAt.toISOString(),
  expiresAt: row.expiresAt.toISOString(),
  current: row.id === currentId,
});
