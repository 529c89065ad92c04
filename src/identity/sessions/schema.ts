import { type Static, Type } from 'typebox';
import { SIGN_IN_METHODS } from '../../platform/lib/actor.ts';
import { ROLES, SCOPES } from '../../platform/lib/scope.ts';
import { PLANS } from '../../platform/lib/plan.ts';
import type { SessionRow } from './sql.ts';
import { channelName, id, instant, orNull } from '../../platform/lib/schema.ts';

const Id = id();
const Role = (description: string) => Type.Enum([...ROLES], { type: 'string', description });
const ENDS = 'UTC. The session ends earlier after 12 hours without a request.';

const method = () =>
  Type.Enum([...SIGN_IN_METHODS], {
    type: 'string',
    description: 'The last factor that the user showed to sign in.',
  });

export const SessionOut = Type.Object({
  user: Type.Object({
    id: Type.Integer(),
    username: Type.String(),
    role: Role("The role in the user's own account."),
    isOperator: Type.Boolean({
      description: 'True if the user is an operator of the gateway, who may see all accounts.',
    }),
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
    { description: 'The current account, to which all other requests of the session apply.' },
  ),
  ownAccountId: Type.Integer(),
  role: Role('The effective role; in another account, that of an admin.'),
  operations: Type.Array(Type.Enum([...SCOPES], { type: 'string' }), { description: 'The effective scopes.' }),
  writable: Type.Array(Type.Enum([...SCOPES], { type: 'string' }), {
    description: 'Those of `operations` within which the role may change something.',
  }),
  method: method(),
  mustEnrol: Type.Boolean({
    description:
      'True if the account requires a second factor and the user has none: until one is added, everything else is ' +
      '403 with the code `second_factor_required`.',
  }),
  createdAt: instant('UTC'),
  expiresAt: instant(ENDS),
});

export const AccountIn = Type.Object({
  accountId: Type.Union([Id, Type.Null()], { description: 'The account to switch to; null for your own.' }),
});

export const OthersEnded = Type.Object({ ended: Type.Integer({ description: 'Number of sessions that were ended.' }) });

export const SessionParams = Type.Object({ id: Id });

export const sessionFilters = {
  userId: Type.Optional(id('Only sessions of this user.')),
  all: Type.Boolean({ default: false, description: 'True to list the sessions of all users of the account.' }),
};

export const SessionEntry = Type.Object({
  id: Type.Integer(),
  userId: Type.Integer(),
  username: Type.String(),
  address: orNull(Type.String({ description: 'The address from which the user signed in.' })),
  userAgent: Type.String({ description: 'The User-Agent of the browser; at most 200 characters.' }),
  method: method(),
  createdAt: instant('UTC'),
  lastSeenAt: instant('UTC, exact to about a minute.'),
  expiresAt: instant(ENDS),
  current: Type.Boolean({ description: 'True for the session that makes this request.' }),
});

/** Formats a session for lists; `currentId` is the session of the caller. */
export const toSessionEntry = (row: SessionRow, currentId: number | undefined): Static<typeof SessionEntry> => ({
  id: row.id,
  userId: row.userId,
  username: row.username,
  address: row.address,
  userAgent: row.userAgent,
  method: row.method,
  createdAt: row.createdAt.toISOString(),
  lastSeenAt: row.lastSeenAt.toISOString(),
  expiresAt: row.expiresAt.toISOString(),
  current: row.id === currentId,
});
