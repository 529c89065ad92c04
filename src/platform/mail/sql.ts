import { type Db, exec, maybeOne, one, sql } from '../db/query.ts';
import { as, columns, type RowOf } from '../db/select.ts';

/** The NOTIFY channel on which workers listen; a new mail wakes them when its transaction commits. */
export const MAIL_CHANNEL = 'heliograph_mail';

type NewMail = {
  readonly id: string;
  readonly accountId: number;
  readonly sealed: Buffer;
  readonly expiresAt: Date;
};

/** Inserts a mail that is due at once. */
export const insertMail = (db: Db, mail: NewMail): Promise<number> =>
  exec(
    db,
    sql`WITH mail AS (
          INSERT INTO outgoing_mail (id, account_id, sealed, expires_at)
          VALUES (${mail.id}, ${mail.accountId}, ${mail.sealed}, ${mail.expiresAt}))
        SELECT pg_notify(${MAIL_CHANNEL}, '')`,
  );

const DUE = columns({
  id: as<string>('id'),
  accountId: as<number>('account_id'),
  sealed: as<Buffer>('sealed'),
  attempts: as<number>('attempts'),
});
export type DueMail = RowOf<typeof DUE>;

/** Claims the mail that is due first, of any account; for `leaseMs` nobody else gets it. */
export const claimDueMail = (db: Db, { leaseMs }: { leaseMs: number }): Promise<DueMail | undefined> =>
  maybeOne(
    db,
    sql`UPDATE outgoing_mail SET attempts = attempts + 1, due_at = now() + make_interval(secs => ${leaseMs / 1000})
        WHERE id = (SELECT id FROM outgoing_mail WHERE due_at <= now() AND expires_at > now()
                    ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED)
        RETURNING ${DUE}`,
  );

/** Returns the wait until the next mail is due in ms, possibly negative; null if none waits. */
export async function findNextMailMs(db: Db): Promise<number | null> {
  const { ms } = await one<{ ms: number | null }>(
    db,
    sql`SELECT (extract(epoch FROM min(due_at) - now()) * 1000)::float8 AS ms FROM outgoing_mail WHERE expires_at > now()`,
  );
  return ms;
}

/** Postpones a mail that could not be handed over. */
export const updateDueMail = (db: Db, { id, delayMs }: { id: string; delayMs: number }): Promise<number> =>
  exec(db, sql`UPDATE outgoing_mail SET due_at = now() + make_interval(secs => ${delayMs / 1000}) WHERE id = ${id}`);

export const deleteMail = (db: Db, { id }: { id: string }): Promise<number> =>
  exec(db, sql`DELETE FROM outgoing_mail WHERE id = ${id}`);

/** Deletes mails whose link has ended, of all accounts. */
export const deleteExpiredMails = (db: Db): Promise<number> =>
  exec(db, sql`DELETE FROM outgoing_mail WHERE expires_at <= now()`);
