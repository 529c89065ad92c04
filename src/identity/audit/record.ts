import { userInfo } from 'node:os';
import type { Db } from '../../platform/db/query.ts';
import type { Actor } from '../../platform/lib/actor.ts';
import { newOrderedId } from '../../platform/lib/ids.ts';
import { type ActorKind, insertAuditEntry } from './sql.ts';

/** The author of a change as recorded in the audit log: an actor, an operator at the command line, or the program. */
export type Author = Pick<Actor, 'accountId' | 'keyId' | 'userId' | 'username'> & { readonly kind: ActorKind };

export type AuditEvent = {
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
