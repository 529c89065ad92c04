import { type Db, exec, maybeOne, one, sql } from '../db/query.ts';
import { as, columns, type RowOf } from '../db/select.ts';
import type { Plan } from '../lib/plan.ts';

/** The NOTIFY channel on which workers listen; a new mail wakes them when its transaction commits. */
export const MAIL_CHANNEL = 'heliograph_mail';

type NewMail = {
  readonly id: string;
  readonly accountId: number;
  readonly sealed: Buffer;
  readonly expiresAt: Date;
  /** True if it goes before all that are not. */
  readonly urgent: boolean;
};

/** Distance between the turns of an account: behind a burst of its mails, those of others wait for one in this time. */
const TURN = sql`interval '10 minutes'`;

/** Inserts a mail that is due immediately, with its turn after those of the account that wait. */
export const insertMail = (db: Db, mail: NewMail): Promise<number> =>
  exec(
    db,
    sql`WITH mail AS (
          INSERT INTO outgoing_mail (id, account_id, sealed, expires_at, urgent, turn_at)
          SELECT ${mail.id}, ${mail.accountId}, ${mail.sealed}, ${mail.expiresAt}, ${mail.urgent},
                 greatest(now(), max(m.turn_at) + ${TURN})
          FROM outgoing_mail m WHERE m.account_id = ${mail.accountId} AND m.urgent = ${mail.urgent})
        SELECT pg_notify(${MAIL_CHANNEL}, '')`,
  );

/** Finds the plan of an account. */
export const findPlan = async (db: Db, { accountId }: { accountId: number }): Promise<Plan> =>
  (await one<{ plan: Plan }>(db, sql`SELECT plan FROM account WHERE id = ${accountId}`)).plan;

type Budget = { readonly subject: Buffer; readonly perHour: number; readonly perDay: number };

/** Counts a mail and returns 0, or returns the seconds until the budget has room without counting it. */
export const takeMail = async (db: Db, { subject, perHour, perDay }: Budget): Promise<number> =>
  (await one<{ wait: number }>(db, sql`SELECT take_mail(${subject}, ${perHour}, ${perDay}) AS wait`)).wait;

/** Deletes the budgets from which nothing was taken for a day. */
export const deleteUnusedBudgets = (db: Db): Promise<number> =>
  exec(db, sql`DELETE FROM mail_budget WHERE taken_at[1] < now() - interval '1 day'`);

/** Counts the mails that were dropped in the last day because a budget was used up and no user waited for them. */
export const countDropped = async (db: Db): Promise<number> =>
  (await one<{ dropped: number }>(db, sql`SELECT coalesce(sum(dropped), 0)::bigint AS dropped FROM mail_budget`))
    .dropped;

const DUE = columns({
  id: as<string>('id'),
  accountId: as<number>('account_id'),
  sealed: as<Buffer>('sealed'),
  attempts: as<number>('attempts'),
});
export type DueMail = RowOf<typeof DUE>;

/** Claims the due mail whose turn is next; for `leaseMs` no other worker gets it. */
export const claimDueMail = (db: Db, { leaseMs }: { leaseMs: number }): Promise<DueMail | undefined> =>
  maybeOne(
    db,
    sql`UPDATE outgoing_mail SET attempts = attempts + 1, due_at = now() + make_interval(secs => ${leaseMs / 1000})
        WHERE id = (SELECT id FROM outgoing_mail WHERE due_at <= now() AND expires_at > now()
                    ORDER BY urgent DESC, turn_at LIMIT 1 FOR UPDATE SKIP LOCKED)
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
