import { createHmac } from 'node:crypto';
import { createTransport } from 'nodemailer';
import type { Pool } from 'pg';
import { Type } from 'typebox';
import { DAILY_BUDGETS, type Plan } from './actor.ts';
import { always, every, type Task, whenDue } from './background.ts';
import type { Config } from './config.ts';
import { as, columns, type Db, exec, maybeOne, one, type RowOf, sql } from './db/query.ts';
import { AppError } from './errors.ts';
import { newId } from './ids.ts';
import type { Log } from './log.ts';
import { open, type SecretKey, seal } from './secrets.ts';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from './time.ts';

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

/** Purpose of a mail. */
export type MailKind = 'reset' | 'invitation' | 'copy' | 'notice';

/** Maximum number of mails to a recipient, over all accounts. Mails with another `name` are counted separately. */
type RecipientBudget = { readonly name: string; readonly perHour: number; readonly perDay: number };

/** Budget of mails that others have sent: the recipient may not have asked for anything. */
const FROM_OTHERS: RecipientBudget = { name: 'others', perHour: 3, perDay: 10 };
/** Budget of links for a new password: it cannot be used up with other mails. */
const OWN_SECURITY: RecipientBudget = { name: 'reset', perHour: 3, perDay: 72 };
/** Copies of inbound messages, if the operator knows the customer: an inbox that is read by mail. */
const COPIES: RecipientBudget = { name: 'copies', perHour: 60, perDay: 500 };

/**
 * Returns true if mails of a kind are about the recipient's own sign-in: they go first, and no account can use up their
 * budget.
 */
const isUrgent = (kind: MailKind): boolean => kind === 'reset';

/**
 * Returns the budget of a recipient. Notices of a customer whom the operator knows are counted separately for each
 * account: invitations of others do not use it up.
 */
function recipientBudget({ kind, accountId }: Counted, plan: Plan): RecipientBudget {
  if (isUrgent(kind)) return OWN_SECURITY;
  if (plan === 'trial' || kind === 'invitation') return FROM_OTHERS;
  return kind === 'copy' ? COPIES : { ...FROM_OTHERS, name: `notice ${accountId}` };
}

/** A budget without room for a mail, and the time until it has room. */
type UsedUp = { readonly of: 'recipient' | 'account'; readonly retryAfterSeconds: number };

type Counted = { readonly accountId: number; readonly kind: MailKind; readonly to: string };

/**
 * Counts a mail against the budgets of its account and its recipient, whose rows stay locked until the transaction
 * ends; null if both had room. The account comes first: an account whose own budget is used up cannot use up that of a
 * recipient.
 */
async function takeBudget(tx: Db, secretKey: SecretKey, mail: Counted): Promise<UsedUp | null> {
  const { accountId, kind, to } = mail;
  const plan = await findPlan(tx, { accountId });
  const subject = (text: string): Buffer =>
    createHmac('sha256', secretKey.bytes).update(`mail budget ${text}`).digest();
  const { mails } = DAILY_BUDGETS[plan];
  if (!isUrgent(kind) && mails !== null) {
    const account = { subject: subject(`account ${accountId}`), perHour: mails, perDay: mails };
    const retryAfterSeconds = await takeMail(tx, account);
    if (retryAfterSeconds > 0) return { of: 'account', retryAfterSeconds };
  }
  const { name, ...bounds } = recipientBudget(mail, plan);
  const retryAfterSeconds = await takeMail(tx, { subject: subject(`${name} ${mailboxOf(to)}`), ...bounds });
  return retryAfterSeconds > 0 ? { of: 'recipient', retryAfterSeconds } : null;
}

/** Returns one mailbox for all spellings that commonly reach it: in any case, and with any tag (RFC 5233). */
function mailboxOf(address: string): string {
  const [local = '', domain = ''] = address.toLowerCase().split('@');
  return `${local.split('+')[0]}@${domain}`;
}

/** A mail: plain text, from us to one address. */
export type Mail = { readonly to: string; readonly subject: string; readonly text: string };

/**
 * Reason why a mail was not taken. `final`: the server rejected this mail, so that a repetition gets the same response.
 */
type MailFailure = { readonly code: string; readonly final: boolean };

export type Mailer = {
  /**
   * Hands a mail to the server; null if it was taken. Never rejects. The same `id` gives the same Message-ID, by which
   * receivers recognise a duplicate.
   */
  send(id: string, mail: Mail): Promise<MailFailure | null>;
};

const STEP_MS = 10_000;

/**
 * Creates a mailer for the server in SMTP_URL. Beyond this machine it uses TLS, or sends nothing: mails contain links
 * that are credentials. Each mail has a separate connection; every step has 10 s.
 */
export function createMailer({ smtpUrl, from }: NonNullable<Config['mail']>): Mailer {
  const { hostname } = new URL(smtpUrl);
  const isHere = hostname === 'localhost' || hostname === '[::1]' || hostname.startsWith('127.');
  const transport = createTransport({
    url: smtpUrl,
    requireTLS: !isHere,
    connectionTimeout: STEP_MS,
    greetingTimeout: STEP_MS,
    socketTimeout: STEP_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  const domain = from.slice(from.lastIndexOf('@') + 1);
  return {
    send: (id, mail) =>
      transport
        // An object, because a text is parsed as a list of addresses.
        .sendMail({
          to: { name: '', address: mail.to },
          from: { name: 'Heliograph', address: from },
          subject: mail.subject,
          text: mail.text,
          messageId: `<${id}@${domain}>`,
          headers: { 'Auto-Submitted': 'auto-generated' },
        })
        .then(() => null, failureOf),
  };
}

/** Returns the failure with its code only: the text of an error may contain the address. */
function failureOf(error: unknown): MailFailure {
  const field = (name: string): unknown =>
    typeof error === 'object' && error !== null ? Reflect.get(error, name) : undefined;
  const status = Number(field('responseCode'));
  const given = field('code');
  const code = typeof given === 'string' ? given : 'failed';
  // A rejected login or sender is an error in our settings, which the operator will correct.
  const final = status >= 500 && code === 'EENVELOPE' && field('command') !== 'MAIL FROM';
  return { code: Number.isNaN(status) ? code : `${code} ${status}`, final };
}

type Deps = {
  readonly config: Pick<Config, 'mail'>;
  readonly pool: Pool;
  readonly secretKey: SecretKey;
  readonly log: Log;
};

/** Lease of a mail, longer than its steps may take: after a crash another worker sends it again. */
const LEASE_MS = 2 * MINUTE_MS;
const FIRST_RETRY_MS = 5 * SECOND_MS;
const MAX_RETRY_MS = 10 * MINUTE_MS;
/** Connections to the mail server at a time. Servers of providers commonly allow ten. */
const CONNECTIONS = 4;

/**
 * Hands queued mails to the mail server, several at a time, each until it is taken, permanently rejected, or useless
 * because its link has ended. Pausable: a copy of the database must not send the mails of the original. Without
 * SMTP_URL there is only the deletion.
 */
export function mailTasks({ config, ...deps }: Deps): Task[] {
  const deleteOld = async (): Promise<void> => {
    await deleteExpiredMails(deps.pool);
    await deleteUnusedBudgets(deps.pool);
  };
  const old: Task = { name: 'expired mails', work: every(HOUR_MS, deleteOld) };
  if (config.mail === undefined) return [old];
  const mailer = createMailer(config.mail);
  const work = whenDue(
    () => sendNextMail(deps, mailer),
    () => findNextMailMs(deps.pool),
    30 * SECOND_MS,
  );
  const sending = Array.from(
    { length: CONNECTIONS },
    (_, n): Task => ({ name: `mails ${n + 1}`, pausable: true, work, wakeOn: { [MAIL_CHANNEL]: always } }),
  );
  return [...sending, old];
}

/** Sends the mail whose turn is next. Returns the number found. */
async function sendNextMail({ pool, secretKey, log }: Omit<Deps, 'config'>, mailer: Mailer): Promise<number> {
  const due = await claimDueMail(pool, { leaseMs: LEASE_MS });
  if (!due) return 0;
  const { id, accountId, attempts: attempt } = due;
  const failure = await mailer.send(id, openMail(secretKey, due));
  if (failure === null || failure.final) await deleteMail(pool, { id });
  if (failure === null) return 1;
  const retryInMs = failure.final ? undefined : Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** (attempt - 1));
  if (retryInMs !== undefined) await updateDueMail(pool, { id, delayMs: retryInMs });
  log.warn({ accountId, attempt, code: failure.code, retryInMs }, 'a mail was not taken by the mail server');
  return 1;
}

/** The NOTIFY channel on which workers listen; a new mail wakes them when its transaction commits. */
const MAIL_CHANNEL = 'heliograph_mail';

type MailRow = {
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
const insertMail = (db: Db, mail: MailRow): Promise<number> =>
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
const findPlan = async (db: Db, { accountId }: { accountId: number }): Promise<Plan> =>
  (await one<{ plan: Plan }>(db, sql`SELECT plan FROM account WHERE id = ${accountId}`)).plan;

type Budget = { readonly subject: Buffer; readonly perHour: number; readonly perDay: number };

/** Counts a mail and returns 0, or returns the seconds until the budget has room without counting it. */
const takeMail = async (db: Db, { subject, perHour, perDay }: Budget): Promise<number> =>
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
type DueMail = RowOf<typeof DUE>;

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
async function findNextMailMs(db: Db): Promise<number | null> {
  const { ms } = await one<{ ms: number | null }>(
    db,
    sql`SELECT (extract(epoch FROM min(due_at) - now()) * 1000)::float8 AS ms FROM outgoing_mail WHERE expires_at > now()`,
  );
  return ms;
}

/** Postpones a mail that could not be handed over. */
const updateDueMail = (db: Db, { id, delayMs }: { id: string; delayMs: number }): Promise<number> =>
  exec(db, sql`UPDATE outgoing_mail SET due_at = now() + make_interval(secs => ${delayMs / 1000}) WHERE id = ${id}`);

const deleteMail = (db: Db, { id }: { id: string }): Promise<number> =>
  exec(db, sql`DELETE FROM outgoing_mail WHERE id = ${id}`);

/** Deletes mails whose link has ended, of all accounts. */
export const deleteExpiredMails = (db: Db): Promise<number> =>
  exec(db, sql`DELETE FROM outgoing_mail WHERE expires_at <= now()`);

/** The languages of mails: those of the console. */
export const LANGUAGES = ['en', 'it', 'es', 'de'] as const;
export type Language = (typeof LANGUAGES)[number];

/** The field of a request that chooses the language of its mail. */
export const language = () =>
  Type.Enum([...LANGUAGES], { type: 'string', default: 'en', description: 'The language of the mail.' });

/** Joins the paragraphs of a mail. Values in them are without line breaks, so that no value can add a paragraph. */
export const paragraphs = (...texts: readonly string[]): string => `${texts.join('\n\n')}\n`;

/** Makes a name that others chose one short line. */
export const inOneLine = (name: string): string => name.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').slice(0, 100);

const EMAIL = /^[a-z0-9][a-z0-9._+-]{0,63}@(?:[a-z0-9][a-z0-9-]{0,62}\.)+[a-z0-9-]{2,63}$/;

/** Returns true if a username is also an email address. Usernames are lower-case. */
export const isEmail = (username: string): boolean => username.length <= 200 && EMAIL.test(username);
