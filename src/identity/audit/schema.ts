import { type Static, Type } from 'typebox';
import { timeOfId } from '../../platform/lib/ids.ts';
import type { AuditRow } from './sql.ts';
import { instant, orNull } from '../../platform/lib/schema.ts';

export const AuditOut = Type.Object({
  id: Type.String({ format: 'uuid' }),
  at: instant('UTC'),
  actor: Type.Object({
    kind: Type.Enum(['key', 'user', 'operator', 'system'], {
      type: 'string',
      description: 'An API key, a person with a password, whoever runs the gateway, or the gateway by itself.',
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
export const toAuditOut = ({ id, action, subject, detail, ...row }: AuditRow): Static<typeof AuditOut> => ({
  id,
  at: timeOfId(id).toISOString(),
  actor: { kind: row.actorKind, keyId: row.keyId, userId: row.userId, username: row.username },
  action,
  subject,
  detail,
});
