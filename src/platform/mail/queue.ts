import type { Db } from '../db/query.ts';
import { newId } from '../lib/ids.ts';
import { open, seal, type SecretKey } from '../lib/secret-box.ts';
import { insertMail } from './sql.ts';
import type { Mail } from './transport.ts';

/**
 * Queues a mail for the workers. Call it in the transaction of what the mail is about: then it is sent at least once if
 * that is committed, and not at all otherwise. After `expiresAt` it is no longer sent.
 */
export async function queueMail(
  tx: Db,
  secretKey: SecretKey,
  { accountId, expiresAt, ...mail }: Mail & { readonly accountId: number; readonly expiresAt: Date },
): Promise<void> {
  const id = newId();
  await insertMail(tx, { id, accountId, sealed: seal(secretKey, JSON.stringify(mail), contextOf(id)), expiresAt });
}

/** Opens a queued mail. */
export function openMail(secretKey: SecretKey, { id, sealed }: { readonly id: string; readonly sealed: Buffer }): Mail {
  const { to, subject, text }: Mail = JSON.parse(open(secretKey, sealed, contextOf(id)).toString());
  return { to, subject, text };
}

const contextOf = (id: string): string => `outgoing_mail.sealed ${id}`;
