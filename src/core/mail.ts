import { createHmac } from 'node:crypto';
import { createTransport } from 'nodemailer';
import type { Pool } from 'pg';
import { Type } from 'typebox';
import { DAILY_BUDGETS, type Plan } from './actor.ts';
import { every, type Task } from './background.ts';
import type { Config } from './config.ts';
import { type Db, exec, one, sql } from './db/query.ts';
import { AppError } from './errors.ts';
import { newId } from './ids.ts';
import { type Handler, job, type Runnable } from './jobs.ts';
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
  const sealed = seal(secretKey, JSON.stringify(mail), contextOf(id)).toString('base64');
  const queue = isUrgent(kind) ? urgentMail : queuedMail;
  await queue.add(tx, { accountId, key: null, payload: { id, sealed, expiresAt: expiresAt.toISOString() } });
  return null;
}

/** A mail that waits for the mail server. */
export type QueuedMail = { readonly id: string; readonly sealed: string; readonly expiresAt: string };

/** Opens a queued mail. */
export function openMail(secretKey: SecretKey, { id, sealed }: Pick<QueuedMail, 'id' | 'sealed'>): Mail {
  const opened = open(secretKey, Buffer.from(sealed, 'base64'), contextOf(id));
  const { to, subject, text }: Mail = JSON.parse(opened.toString());
  return { to, subject, text };
}

const contextOf = (id: string): string => `outgoing_mail.sealed ${id}`;

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

type MailDeps = { readonly mailer: Mailer; readonly secretKey: SecretKey; readonly log: Log };
type Deps = Omit<MailDeps, 'mailer'> & { readonly config: Pick<Config, 'mail'>; readonly pool: Pool };

/** Forgets the mail budgets that were not used for a day. */
export const mailTasks = ({ pool }: Pick<Deps, 'pool'>): Task[] => [
  { name: 'unused mail budgets', work: every(HOUR_MS, () => deleteUnusedBudgets(pool)) },
];

const FIRST_RETRY_MS = 5 * SECOND_MS;
const MAX_RETRY_MS = 10 * MINUTE_MS;

/**
 * Mails are handed to the mail server until they are taken, permanently rejected, or useless because their link has
 * ended. Pausable: a copy of the database must not send the mails of the original.
 */
const sendMail: Handler<QueuedMail, MailDeps> = async ({ mailer, secretKey, log }, { accountId, payload, tries }) => {
  if (Date.parse(payload.expiresAt) <= Date.now()) return undefined;
  const failure = await mailer.send(payload.id, openMail(secretKey, payload));
  if (failure === null) return undefined;
  const inMs = failure.final ? undefined : Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** (tries - 1));
  log.warn(
    { accountId, attempt: tries, code: failure.code, retryInMs: inMs },
    'a mail was not taken by the mail server',
  );
  return inMs === undefined ? undefined : { kind: 'retry', inMs };
};

/** Mails about the recipient's own sign-in, which wait for no others. Servers of providers commonly allow ten at a time. */
const urgentMail = job('mail.urgent', { concurrency: 2, pausable: true }, sendMail);
const queuedMail = job('mail', { concurrency: 4, pausable: true }, sendMail);

/** The jobs that send mails. Without SMTP_URL nothing is sent, and mails wait until their links have ended. */
export function mailJobs({ config, ...deps }: Deps): Runnable[] {
  const mailer = config.mail
    ? createMailer(config.mail)
    : { send: async () => ({ code: 'no SMTP_URL', final: false }) };
  return [urgentMail.using({ ...deps, mailer }), queuedMail.using({ ...deps, mailer })];
}

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
