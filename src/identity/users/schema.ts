import { type Static, Type } from 'typebox';
import { ROLES } from '../../platform/lib/scope.ts';
import type { UserRow } from './sql.ts';
import { id } from '../../platform/lib/schema.ts';

const Role = Type.Enum([...ROLES], {
  type: 'string',
  description:
    'viewer: reads everything but keys, users and the audit log. sender: sends, replies in the inbox and uploads media; ' +
    'reads campaigns, contacts and the tracking of messages. manager: everything but keys, users, the audit log and ' +
    'security. admin: everything.',
});
const password = (description: string) => Type.String({ minLength: 12, maxLength: 200, description });

export const UserIn = Type.Object({
  username: Type.String({
    pattern: '^[a-z0-9][a-z0-9._@+-]{0,199}$',
    description: 'Unique on this gateway: lower-case letters, digits and . _ @ + -',
    'x-message': 'must have 1 to 200 lower-case letters, digits and . _ @ + -, starting with a letter or a digit',
  }),
  password: password('At least 12 characters, and not the username.'),
  role: Role,
});

export const UserPatch = Type.Object({
  role: Type.Optional(Role),
  password: Type.Optional(password('A new password for another user. For your own, use `PUT /users/me/password`.')),
});

export const PasswordIn = Type.Object({
  currentPassword: Type.String({ maxLength: 200 }),
  newPassword: password('At least 12 characters, and not the username.'),
});

export const UserOut = Type.Object({
  id: Type.Integer(),
  username: Type.String(),
  role: Role,
  isOperator: Type.Boolean({
    description: 'True if the user is an operator of the gateway; only operators can change or remove operators.',
  }),
  createdAt: Type.String({ format: 'date-time', description: 'UTC' }),
});

export const UserId = Type.Object({ id: id() });

/** Formats a user for responses. */
export const toUserOut = (user: UserRow): Static<typeof UserOut> => ({
  id: user.id,
  username: user.username,
  role: user.role,
  isOperator: user.isOperator,
  createdAt: user.createdAt.toISOString(),
});
