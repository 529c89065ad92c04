import { type Static, Type } from 'typebox';
import { pageFields } from '../http/page.ts';
import { timeOfId } from '../lib/ids.ts';
import type { AuditRow } from './sql.ts';

const instant = (description: string) => Type.String({ format: 'date-time', description });
const orNull = <T extends Type.TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

export const AuditQuery = Type.Object({
  ...pageFields,
  action: Type.Optional(Type.String({ maxLength: 200, description: 'Exactly this, for example `api-key.create`.' })),
  subject: Type.Optional(Type.String({ maxLength: 400, description: 'Exactly this, for example `api-key:12`.' })),
  from: Type.Optional(instant('ISO 8601 with offset; entries from then on.')),
  to: Type.Optional(instant('ISO 8601 with offset; entries before then.')),
});

export const AuditOut = Type.Object({
  id: Type.String({ format: 'uuid' }),
  at: instant('UTC'),
  actor: Type.Object({
    kind: Type.Enum(['key', 'user', 'operator'], {
      type: 'string',
      description: 'An API key, a person with a password, or whoever runs the gateway.',
    }),
    keyId: orNull(Type.Integer()),
    userId: orNull(Type.Integer({ description: 'The person, or the maker of the key.' })),
    username: orNull(Type.String()),
  }),
  action: Type.String({ description: 'What was done, for example `api-key.create`.' }),
  subject: Type.String({ description: 'To what, for example `api-key:12`.' }),
  detail: Type.Record(Type.String(), Type.Unknown(), { description: 'What was changed to what; never a secret.' }),
});

/** An entry as the interface writes it. */
export const listed = ({ id, action, subject, detail, ...row }: AuditRow): Static<typeof AuditOut> => ({
  id,
  at: timeOfId(id).toISOString(),
  actor: { kind: row.actorKind, keyId: row.keyId, userId: row.userId, username: row.username },
  action,
  subject,
  detail,
});
