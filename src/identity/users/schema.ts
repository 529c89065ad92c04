import { type Static, Type } from 'typebox';
import { ROLES } from '../../platform/lib/scope.ts';
import type { UserRow } from './sql.ts';
import { id } from '../../platform/lib/schema.ts';

const Role = Type.Enum([...ROLES], {
  type: 'string',
  description:
    'owner: everything, owners included. admin: everything but owners. operator: everything but keys, people and the ' +
    'audit log. viewer: reads what an operator reads.',
});
const password = (description: string) => Type.String({ minLength: 12, maxLength: 200, description });

export const UserIn = Type.Object({
  username: Type.String({
    pattern: '^[a-z0-9][a-z0-9._@+-]{0,199}$',
    description: 'Unique on this gateway: lower-case letters, digits and . _ @ + -',
    'x-message': 'must have 1 to 200 lower-case letters, digits and . _ @ + -, beginning with a letter or a digit',
  }),
  password: password('At least 12 characters, and not the username.'),
  role: Role,
});

export const UserPatch = Type.Object({
  role: Type.Optional(Role),
  password: Type.Optional(password('A new one, for somebody else. Your own: `PUT /users/me/password`.')),
});

export const PasswordIn = Type.Object({
  currentPassword: Type.String({ maxLength: 200 }),
  newPassword: password('At least 12 characters, and not the username.'),
});

export const UserOut = Type.Object({
  id: Type.Integer(),
  username: Type.String(),
  role: Role,
  isOperator: Type.Boolean({ description: 'Of the gateway: changed and removed by operators alone.' }),
  createdAt: Type.String({ format: 'date-time', description: 'UTC' }),
});

export const UserId = Type.Object({ id: id() });

/** A person as the interface writes them. */
export const toUserOut = ({ id, username, role, isOperator, createdAt }: UserRow): Static<typeof UserOut> => ({
  id,
  username,
  role,
  isOperator,
  createdAt: createdAt.toISOString(),
});
