import { type Db, exec, many, one, sql } from '../../platform/db/query.ts';

export type ActorKind = 'key' | 'user' | 'operator' | 'system';

export type AuditRow = {
  id: string;
  actorKind: ActorKind;
  keyId: number | null;
  userId: number | null;
  username: string | null;
  action: string;
  subject: string;
  detail: Record<string, unknown>;
};

export type NewAuditEntry = Omit<AuditRow, 'detail'> & {
  readonly accountId: number;
  readonly detail: Readonly<Record<string, unknown>>;
};

export const insertAuditEntry = (db: Db, entry: NewAuditEntry): Promise<number> =>
  exec(
    db,
    sql`INSERT INTO audit_entry (account_id, id, actor_kind, key_id, user_id, username, action, subject, detail)
      VALUES (${entry.accountId}, ${entry.id}, ${entry.actorKind}, ${entry.keyId}, ${entry.userId}, ${entry.username},
        ${entry.action}, ${entry.subject}, ${JSON.stringify(entry.detail)}::jsonb)`,
  );

/** Ids from `fromId` on and before `toId`; null leaves a side open, and a null action, subject or user means any. */
export type AuditFilter = {
  readonly accountId: number;
  readonly userId?: number | null;
  readonly action: string | null;
  readonly subject: string | null;
  readonly fromId: string | null;
  readonly toId: string | null;
};

const matches = ({ accountId, userId = null, action, subject, fromId, toId }: AuditFilter) => sql`
  FROM audit_entry
  WHERE account_id = ${accountId} AND (${userId}::bigint IS NULL OR user_id = ${userId})
    AND (${action}::text IS NULL OR action = ${action}) AND (${subject}::text IS NULL OR subject = ${subject})
    AND (${fromId}::uuid IS NULL OR id >= ${fromId}) AND (${toId}::uuid IS NULL OR id < ${toId})`;

/** Newest first. */
export const listAuditEntries = (
  db: Db,
  input: AuditFilter & { readonly limit: number; readonly offset: number },
): Promise<AuditRow[]> =>
  many(
    db,
    sql`SELECT id, actor_kind AS "actorKind", key_id AS "keyId", user_id AS "userId", username, action, subject, detail
      ${matches(input)} ORDER BY id DESC LIMIT ${input.limit} OFFSET ${input.offset}`,
  );

export async function countAuditEntries(db: Db, input: AuditFilter): Promise<number> {
  return (await one<{ total: number }>(db, sql`SELECT count(*) AS total ${matches(input)}`)).total;
}
