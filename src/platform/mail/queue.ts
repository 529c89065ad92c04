import type { Db } from '../db/query.ts';
import { AppError } from '../errors.ts';
import { newId } from '../lib/ids.ts';
import type { Log } from '../lib/log.ts';
import { open, seal, type SecretKey } from '../lib/secret-box.ts';
import { isUrgent, type MailKind, takeBudget, type UsedUp } from './budget.ts';
import { insertMail } from './sql.ts';
import type { Mail } from './transport.ts';

/** A mail and the account that causes it; after `expiresAt` it is no longer sent. */
export type NewMail = Mail & { readonly kind: MailKind; readonly accountId: number; readonly expiresAt: Date };

const REFUSED: Readonly<Record<UsedUp['of'], string>> = {
  recipient: 'This address has reached its email limit: try again later',
  account: 'The account has reached its daily email limit: try again later',
};

/**
 * Queues a mail that a user waits for. Call it in the transaction of the change that the mail reports: the mail is sent
 * at least once if that is committed, and not at all otherwise. Errors: 429 if the recipient or the account has used up
 * its budget; that must roll the transaction back.
 */
export async function mailOrRefuse(tx: Db, secretKey: SecretKey, mail: NewMail): Promise<void> {
  const usedUp = await queueMail(tx, secretKey, mail);
  if (usedUp === null) return;
  const { of, retryAfterSeconds } = usedUp;
  throw new AppError('rate_limited', { message: REFUSED[of], retryAfterSeconds });
}

/**
 * Queues a mail like `mailOrRefuse`, or drops it if the recipient or the account has used up its budget. Returns the
 * reason if it was dropped; null if it was queued.
 */
export async function mailOrDrop(
  tx: Db,
  { secretKey, log }: { readonly secretKey: SecretKey; readonly log: Log },
  mail: NewMail,
): Promise<UsedUp | null> {
  const usedUp = await queueMail(tx, secretKey, mail);
  const { kind, accountId } = mail;
  if (usedUp !== null) log.warn({ accountId, kind, ...usedUp }, 'a mail was dropped: the budget is used up');
  return usedUp;
}

async function queueMail(tx: Db, secretKey: SecretKey, { kind, accountId, expiresAt, ...mail }: NewMail) {
  const usedUp = await takeBudget(tx, secretKey, { kind, accountId, to: mail.to });
  if (usedUp !== null) return usedUp;
  const id = newId();
  const sealed = seal(secretKey, JSON.stringify(mail), contextOf(id));
  await insertMail(tx, { id, accountId, sealed, expiresAt, urgent: isUrgent(kind) });
  return null;
}

/** Opens a queued mail. */
export function openMail(secretKey: SecretKey, { id, sealed }: { readonly id: string; readonly sealed: Buffer }): Mail {
  const { to, subject, text }: Mail = JSON.parse(open(secretKey, sealed, contextOf(id)).toString());
  return { to, subject, text };
}

const contextOf = (id: string): string => `outgoing_mail.sealed ${id}`;
