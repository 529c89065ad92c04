import { type Db, exec, many, one, sql } from '../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../platform/db/select.ts';

export type ActorKind = 'key' | 'user' | 'operator' | 'system';

const ENTRY = columns({
  id: as<string>('id'),
  actorKind: as<ActorKind>('actor_kind'),
  keyId: as<number | null>('key_id'),
  userId: as<number | null>('user_id'),
  username: as<string | null>('username'),
  action: as<string>('action'),
  subject: as<string>('subject'),
  detail: as<Record<string, unknown>>('detail'),
});
export type AuditRow = RowOf<typeof ENTRY>;

export type NewAuditEntry = Omit<AuditRow, 'detail'> & {
  readonly accountId: number;
  readonly detail: Readonly<Record<string, unknown>>;
};

/** Records an entry. Fails the transaction as unavailable when the account is not served in this database. */
export const insertAuditEntry = (db: Db, entry: NewAuditEntry): Promise<number> =>
  exec(
    db,
    sql`INSERT INTO audit_entry (account_id, id, actor_kind, key_id, user_id, username, action, subject, detail)
      SELECT ${entry.accountId}::bigint, ${entry.id}::uuid, ${entry.actorKind}, ${entry.keyId}::bigint, ${entry.userId}::bigint,
        ${entry.username}, ${entry.action}, ${entry.subject}, ${JSON.stringify(entry.detail)}::jsonb
      WHERE NOT EXISTS (SELECT FROM account WHERE id = ${entry.accountId} AND away IS NOT NULL AND refuse_away(id))`,
  );

/**
 * Selects entries: ids from `fromId` (inclusive) to `toId` (exclusive), where null leaves that side open; a null
 * action, subject or user means any.
 */
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

/** Lists entries, newest first. */
export const listAuditEntries = (
  db: Db,
  input: AuditFilter & { readonly limit: number; readonly offset: number },
): Promise<AuditRow[]> =>
  many(
    db,
    sql`SELECT ${ENTRY}
      ${matches(input)} ORDER BY id DESC LIMIT ${input.limit} OFFSET ${input.offset}`,
  );

export async function countAuditEntries(db: Db, input: AuditFilter): Promise<number> {
  return (await one<{ total: number }>(db, sql`SELECT count(*) AS total ${matches(input)}`)).total;
}
