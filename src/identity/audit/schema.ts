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
      description: 'An API key, a user of the account, an operator of the gateway, or the gateway itself.',
    }),
    keyId: orNull(Type.Integer()),
    userId: orNull(Type.Integer({ description: 'The user, or the user who made the key.' })),
    username: orNull(Type.String()),
  }),
  action: Type.String({ description: 'The action, for example `api-key.create`.' }),
  subject: Type.String({ description: 'Object of the action, for example `api-key:12`.' }),
  detail: Type.Record(Type.String(), Type.Unknown(), { description: 'Details of the change, without secrets.' }),
});

/** Formats an entry for responses. */
export const toAuditOut = ({ id, action, subject, detail, ...row }: AuditRow): Static<typeof AuditOut> => ({
  id,
  at: timeOfId(id).toISOString(),
  actor: { kind: row.actorKind, keyId: row.keyId, userId: row.userId, username: row.username },
  action,
  subject,
  detail,
});
