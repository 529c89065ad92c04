import { userInfo } from 'node:os';
import type { Actor } from '../core/actor.ts';
import { as, columns, countRows, type Db, exec, many, type RowOf, sql } from '../core/db/query.ts';
import { newOrderedId } from '../core/ids.ts';

/** The author of a change as recorded in the audit log: an actor, an operator at the command line, or the program. */
export type Author = Pick<Actor, 'accountId' | 'keyId' | 'userId' | 'username'> & { readonly kind: ActorKind };

type AuditEvent = {
  /** Kind and verb, such as `api-key.create`. */
  readonly action: string;
  /** Kind and id, such as `api-key:12`. */
  readonly subject: string;
  /** The change, without secrets: never a key, a password, a token or a message's text. */
  readonly detail?: Readonly<Record<string, unknown>>;
};

/**
 * Records an event in the audit log of the author's account. Call it in the transaction of the change, so that either
 * both are committed or neither.
 */
export async function recordAudit(tx: Db, author: Author, { action, subject, detail = {} }: AuditEvent): Promise<void> {
  const { accountId, kind, keyId, userId, username } = author;
  const actor = { actorKind: kind, keyId, userId, username };
  await insertAuditEntry(tx, { accountId, id: newOrderedId(), ...actor, action, subject, detail });
}

/** The account id of audit entries about the gateway itself, which belong to no account. */
export const GATEWAY_ACCOUNT_ID = 0;

/**
 * Returns the author of an operator's changes to an account. The account's log shows the operator's name, by default
 * that of the system user who runs the command.
 */
export const operatorAuthor = (accountId: number, by = operatorName()): Author & { readonly kind: 'operator' } => ({
  kind: 'operator',
  accountId,
  keyId: null,
  userId: null,
  username: by,
});

/** Returns the author of the program's own changes, because of an event from a network or of the time. */
export const systemAuthor = (accountId: number): Author => ({
  kind: 'system',
  accountId,
  keyId: null,
  userId: null,
  username: null,
});

/** Returns the name of the system user; `operator` if it has none, as in a container that runs under a bare user id. */
export function operatorName(): string {
  try {
    return userInfo().username;
  } catch {
    return 'operator';
  }
}

type ActorKind = 'key' | 'user' | 'operator' | 'system';

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

type NewAuditEntry = Omit<AuditRow, 'detail'> & {
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
type AuditFilter = {
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

export const countAuditEntries = (db: Db, input: AuditFilter): Promise<number> => countRows(db, sql`${matches(input)}`);
