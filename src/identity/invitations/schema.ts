import { type Static, Type } from 'typebox';
import { ROLES } from '../../platform/lib/scope.ts';
import { id, instant, orNull } from '../../platform/lib/schema.ts';
import { language } from '../mail-text.ts';
import type { Invited } from './invite.ts';
import type { InvitationRow } from './sql.ts';

const Role = Type.Enum([...ROLES], { type: 'string' });
const token = Type.String({ maxLength: 100, description: 'The part of the link behind the sign #.' });

export const InvitationId = Type.Object({ id: id() });

export const InvitationIn = Type.Object({
  email: Type.String({ minLength: 3, maxLength: 200, description: 'Becomes the username, in lower case.' }),
  role: Role,
  language: Type.Optional(language()),
});

export const ResendIn = Type.Object({ language: Type.Optional(language()) });

const fields = {
  id: Type.Integer(),
  email: Type.String(),
  role: Role,
  invitedBy: orNull(Type.String({ description: 'The user who invited; null: an operator of the gateway.' })),
  createdAt: instant('UTC'),
  sentAt: instant('UTC'),
  expiresAt: instant('UTC. An expired invitation can be sent again.'),
};

export const InvitationOut = Type.Object(fields);

export const InvitedOut = Type.Object({
  ...fields,
  link: orNull(
    Type.String({ description: 'The link to pass on, if the gateway has no mail server; null: a mail was sent.' }),
  ),
});

export const TokenIn = Type.Object({ token });

export const AcceptIn = Type.Object({
  token,
  password: Type.String({
    minLength: 12,
    maxLength: 200,
    description: 'At least 12 characters, and not the username.',
  }),
});

export const TOKEN_EXAMPLE = 'pQ3nW7xK9sT1vZ5bC8dF2gH4jL6mR0yA-uE_iO7kX2w';

export const OpenInvitationOut = Type.Object({
  username: Type.String(),
  accountName: Type.String(),
  role: Role,
});

export const AcceptedOut = Type.Object({ username: Type.String() });

/** Formats an invitation for lists. */
export const toInvitationOut = (row: InvitationRow): Static<typeof InvitationOut> => ({
  id: row.id,
  email: row.email,
  role: row.role,
  invitedBy: row.invitedBy,
  createdAt: row.createdAt.toISOString(),
  sentAt: row.sentAt.toISOString(),
  expiresAt: row.expiresAt.toISOString(),
});

/** Formats an invitation for the response that creates it, with its link. */
export const toInvitedOut = ({ link, ...row }: Invited): Static<typeof InvitedOut> => ({
  ...toInvitationOut(row),
  link,
});
