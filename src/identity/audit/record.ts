import { userInfo } from 'node:os';
import type { Db } from '../../platform/db/query.ts';
import type { Actor } from '../../platform/http/actor.ts';
import { newId } from '../../platform/lib/ids.ts';
import { type ActorKind, insertAuditEntry } from './sql.ts';

/** Who changes something, as far as the log keeps it: an actor is one, and so is the operator at the command line. */
export type Author = Pick<Actor, 'accountId' | 'keyId' | 'userId' | 'username'> & { readonly kind: ActorKind };

export type AuditEvent = {
  /** Subject and verb, `api-key.create`. */
  readonly action: string;
  /** Kind and id, `api-key:12`. */
  readonly subject: string;
  /** What was changed to what, as far as it is no secret: never a key, a password, a token or a message's text. */
  readonly detail?: Readonly<Record<string, unknown>>;
};

/**
 * Writes into the audit log of the author's account who did this. Call it in the transaction of the change: both are
 * committed, or neither.
 */
export async function recordAudit(tx: Db, author: Author, { action, subject, detail = {} }: AuditEvent): Promise<void> {
  const { accountId, kind, keyId, userId, username } = author;
  const actor = { actorKind: kind, keyId, userId, username };
  await insertAuditEntry(tx, { accountId, id: newId(), ...actor, action, subject, detail });
}

/** The account of entries that are no account's: what is done to the gateway itself. */
export const GATEWAY_ACCOUNT_ID = 0;

/**
 * An operator, at work on this account: what is done to it stands in its log under the name of whoever does it, of a
 * command the machine's user.
 */
export const operatorAuthor = (accountId: number, by = operatorName()): Author & { readonly kind: 'operator' } => ({
  kind: 'operator',
  accountId,
  keyId: null,
  userId: null,
  username: by,
});

/** The program by itself, without anybody's wish: what it did follows from what a network told, or from the clock. */
export const systemAuthor = (accountId: number): Author => ({
  kind: 'system',
  accountId,
  keyId: null,
  userId: null,
  username: null,
});

/** The name on this machine. A container may run under a number that has none. */
export function operatorName(): string {
  try {
    return userInfo().username;
  } catch {
    return 'operator';
  }
}
