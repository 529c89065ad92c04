import type { Pool } from 'pg';
import { type Holder, type Role, requireAuthority, scopesOfRole } from '../core/actor.ts';
import { networkOf } from '../core/address.ts';
import { every, type Task } from '../core/background.ts';
import type { Config } from '../core/config.ts';
import { as, columns, countRows, type Db, exec, many, maybeOne, one, type RowOf, sql } from '../core/db/query.ts';
import { tenantTransaction } from '../core/db/transaction.ts';
import { AppError, existing, invalidFields } from '../core/errors.ts';
import { inOneLine, isEmail, type Language, type Mail, mailOrRefuse, paragraphs } from '../core/mail.ts';
import type { SecretKey } from '../core/secrets.ts';
import { HOUR_MS } from '../core/time.ts';
import { type Author, recordAudit } from './audit.ts';
import { hashPassword, refuseGuessablePassword } from './password.ts';
import { generateToken, hashOfToken } from './sessions.ts';
import { findUserByUsername, insertUser } from './users.ts';

type InviteDeps = { readonly config: Pick<Config, 'mail' | 'publicUrl'>; readonly secretKey: SecretKey };
/** Author of an invitation: an actor, or an operator with all rights. */
type Inviter = Author & Holder;

/** An invitation with its link; the link is null when a mail takes it to the person. */
export type Invited = InvitationRow & { readonly link: string | null };

/** Time for which an invitation can be accepted. */
export const VALID_SECONDS = 7 * 24 * 3600;
/** A mail that seems lost is often late. */
const RESEND_AFTER_SECONDS = 300;
/** Maximum number of open invitations of an account. */
export const MAX_OPEN = 200;

/**
 * Invites an address to the author's account. The mail is queued in the same transaction; without a mail server, the
 * author gets the link to pass on. Errors: 403 when the author may not grant that role; 400 when the address cannot be a
 * username; 409 when the username is taken, the address has an invitation already, there are too many, or passwords do
 * not sign in to the account.
 */
export async function invite(
  deps: InviteDeps,
  tx: Db,
  author: Inviter,
  { role, language, ...input }: { readonly email: string; readonly role: Role; readonly language: Language },
): Promise<Invited> {
  requireAuthority(author, role);
  const { accountId } = author;
  const email = input.email.trim().toLowerCase();
  if (!isEmail(email)) throw invalidFields([{ field: 'email', message: 'must be an email address, in ASCII' }]);
  if (await findUserByUsername(tx, { username: email })) throw conflict('This username is taken');
  if (await isSingleSignOnRequired(tx, { accountId }))
    throw conflict('People sign in to this account with single sign-on, and need no invitation');
  if ((await countInvitations(tx, { accountId })) >= MAX_OPEN)
    throw conflict(`There are ${MAX_OPEN} open invitations: revoke some`);
  const { token, hash } = generateToken();
  const invitedBy = author.kind === 'operator' ? null : author.userId;
  const made = await insertInvitation(tx, { accountId, email, role, hash, invitedBy, validSeconds: VALID_SECONDS });
  if (!made) throw conflict('This address has an invitation already: send it again, or revoke it');
  await recordAudit(tx, author, event('create', made));
  return send(deps, tx, { accountId, invitation: made, token, language });
}

/**
 * Sends an invitation again, with a new link; the earlier one ends. Call it in a transaction. Errors: 404 for an unknown
 * or foreign id; 403 when the author may not grant that role; 429 within five minutes of the last mail, and when the address
 * or the account has used up its mails.
 */
export async function resendInvitation(
  deps: InviteDeps,
  tx: Db,
  author: Inviter,
  { id, language }: { readonly id: number; readonly language: Language },
): Promise<Invited> {
  const { accountId } = author;
  const { token, hash } = generateToken();
  const former = await existing(findInvitation(tx, { accountId, id }));
  requireAuthority(author, former.role);
  if (deps.config.mail !== undefined) refuseTooSoon(former);
  const invitation = await existing(updateInvitationLink(tx, { accountId, id, hash, validSeconds: VALID_SECONDS }));
  await recordAudit(tx, author, event('resend', invitation));
  return send(deps, tx, { accountId, invitation, token, language });
}

function refuseTooSoon({ sentAt }: InvitationRow): void {
  const retryAfterSeconds = RESEND_AFTER_SECONDS - Math.floor((Date.now() - sentAt.getTime()) / 1000);
  if (retryAfterSeconds <= 0) return;
  const message = 'The invitation was sent less than five minutes ago: wait for the mail';
  throw new AppError('rate_limited', { message, retryAfterSeconds });
}

/** Revokes an invitation: its link ends. Call it in a transaction. Errors: 404 for an unknown or foreign id. */
export async function revokeInvitation(tx: Db, author: Author, { id }: { readonly id: number }): Promise<void> {
  const { accountId } = author;
  const invitation = await findInvitation(tx, { accountId, id });
  if (!invitation || (await deleteInvitation(tx, { accountId, id })) === 0) throw new AppError('not_found');
  await recordAudit(tx, author, event('revoke', invitation));
}

type Sending = {
  readonly accountId: number;
  readonly invitation: InvitationRow;
  readonly token: string;
  readonly language: Language;
};

async function send({ config, secretKey }: InviteDeps, tx: Db, sending: Sending): Promise<Invited> {
  const { accountId, invitation, token, language } = sending;
  // In the fragment, which browsers never send.
  const link = `${config.publicUrl}/accept-invitation#${token}`;
  if (config.mail === undefined) return { ...invitation, link };
  const { email, expiresAt } = invitation;
  const account = await findAccountName(tx, { accountId });
  const mail = invitationMail(language, { email, account, link });
  await mailOrRefuse(tx, secretKey, { kind: 'invitation', ...mail, accountId, expiresAt });
  return { ...invitation, link: null };
}

const event = (verb: string, { id, email, role }: InvitationRow) => ({
  action: `invitation.${verb}`,
  subject: `invitation:${id}`,
  detail: { email, role },
});

const conflict = (message: string): AppError => new AppError('conflict', { message });

/** Finds the invitation of a link. Errors: 400 for a link that is unknown, used, revoked or expired. */
export async function findInvited(pool: Pool, { token }: { readonly token: string }): Promise<OpenInvitation> {
  const hash = hashOfToken(token);
  const found = hash && (await findOpenInvitation(pool, { hash }));
  if (!found) throw ended();
  return found;
}

/**
 * Creates the user of an invitation, with the password that the person chose; the link ends. Errors: 400 for a link
 * that is unknown, used, revoked or expired, and for a password that equals the username; 403 when the inviting user
 * may no longer grant that role; 409 when the username was taken in the meantime.
 */
export async function acceptInvitation(
  pool: Pool,
  { token, password, ip }: { readonly token: string; readonly password: string; readonly ip: string },
): Promise<{ readonly username: string }> {
  const { id, accountId, email: username, role, inviterRole } = await findInvited(pool, { token });
  if (inviterRole !== null) requireAuthority({ role: inviterRole, operations: scopesOfRole(inviterRole) }, role);
  refuseGuessablePassword('password', { username, password });
  const [hash, passwordHash] = [hashOfToken(token), await hashPassword(password, { by: networkOf(ip) })];
  await tenantTransaction(pool, { accountId }, async (tx) => {
    if (!hash || (await deleteAccepted(tx, { accountId, hash })) === 0) throw ended();
    const user = await insertUser(tx, { accountId, username, passwordHash, role });
    if (!user) throw new AppError('conflict', { message: 'This username is taken' });
    const author = { kind: 'user', accountId, keyId: null, userId: user.id, username } as const;
    const detail = { username, role, invitation: id };
    await recordAudit(tx, author, { action: 'user.create', subject: `user:${user.id}`, detail });
  });
  return { username };
}

const ended = (): AppError =>
  invalidFields([{ field: 'token', message: 'is not valid: the invitation was accepted or revoked, or has expired' }]);

type Texts = { readonly subject: string; readonly text: (link: string, account: string) => string };

const TEXTS: Readonly<Record<Language, Texts>> = {
  en: {
    subject: 'Invitation to Heliograph',
    text: (link, account) =>
      paragraphs(
        `You were invited to the account “${account}”. To choose a password, open this link within seven days:`,
        link,
        'Your username is this email address. If you did not expect an invitation, ignore this mail.',
      ),
  },
  it: {
    subject: 'Invito a Heliograph',
    text: (link, account) =>
      paragraphs(
        `Hai ricevuto un invito all’account «${account}». Per scegliere una password, apri questo link entro sette giorni:`,
        link,
        'Il tuo nome utente è questo indirizzo. Se non aspettavi un invito, non fare nulla.',
      ),
  },
  es: {
    subject: 'Invitación a Heliograph',
    text: (link, account) =>
      paragraphs(
        `Te han invitado a la cuenta «${account}». Para elegir una contraseña, abre este enlace antes de siete días:`,
        link,
        'Tu nombre de usuario es esta dirección de correo. Si no esperabas una invitación, no hagas nada.',
      ),
  },
  de: {
    subject: 'Einladung zu Heliograph',
    text: (link, account) =>
      paragraphs(
        `Sie wurden in das Konto „${account}“ eingeladen. Um ein Passwort zu wählen, öffnen Sie diesen Link innerhalb ` +
          'von sieben Tagen:',
        link,
        'Ihr Benutzername ist diese E-Mail-Adresse. Wenn Sie keine Einladung erwartet haben, müssen Sie nichts tun.',
      ),
  },
};

const invitationMail = (
  language: Language,
  { email, account, link }: { email: string; account: string; link: string },
): Mail => ({
  to: email,
  subject: TEXTS[language].subject,
  text: TEXTS[language].text(link, inOneLine(account)),
});

/** Deletes invitations that expired a month ago. */
export const invitationTasks = ({ pool }: { readonly pool: Pool }): Task[] => [
  { name: 'old invitations', work: every(HOUR_MS, () => deleteOldInvitations(pool)) },
];

const INVITATION = columns({
  id: as<number>('i.id'),
  email: as<string>('i.email'),
  role: as<Role>('i.role'),
  /** Username of the inviting user; null: an operator of the gateway. */
  invitedBy: as<string | null>('(SELECT u.username FROM app_user u WHERE u.id = i.invited_by)'),
  createdAt: as<Date>('i.created_at'),
  sentAt: as<Date>('i.sent_at'),
  expiresAt: as<Date>('i.expires_at'),
});
export type InvitationRow = RowOf<typeof INVITATION>;

type NewInvitation = {
  readonly accountId: number;
  readonly email: string;
  readonly role: Role;
  readonly hash: Buffer;
  readonly invitedBy: number | null;
  readonly validSeconds: number;
};

/** Inserts an invitation. Returns undefined if the account has one for this address already. */
const insertInvitation = (db: Db, made: NewInvitation): Promise<InvitationRow | undefined> =>
  maybeOne(
    db,
    sql`INSERT INTO invitation AS i (account_id, email, role, token_hash, invited_by, expires_at)
        VALUES (${made.accountId}, ${made.email}, ${made.role}, ${made.hash}, ${made.invitedBy},
          now() + make_interval(secs => ${made.validSeconds}))
        ON CONFLICT (account_id, email) DO NOTHING
        RETURNING ${INVITATION}`,
  );

/** Lists the invitations of an account that were not accepted, newest first, including expired ones. */
export const listInvitations = (
  db: Db,
  input: { accountId: number; limit: number; offset: number },
): Promise<InvitationRow[]> =>
  many(
    db,
    sql`SELECT ${INVITATION} FROM invitation i WHERE i.account_id = ${input.accountId}
        ORDER BY i.id DESC LIMIT ${input.limit} OFFSET ${input.offset}`,
  );

export const countInvitations = (db: Db, { accountId }: { accountId: number }): Promise<number> =>
  countRows(db, sql`FROM invitation WHERE account_id = ${accountId}`);

const findInvitation = (db: Db, input: { accountId: number; id: number }): Promise<InvitationRow | undefined> =>
  maybeOne(
    db,
    sql`SELECT ${INVITATION} FROM invitation i WHERE i.account_id = ${input.accountId} AND i.id = ${input.id}`,
  );

/** Replaces the link of an invitation: the earlier one ends. Returns undefined if there is no such invitation. */
const updateInvitationLink = (
  db: Db,
  input: { accountId: number; id: number; hash: Buffer; validSeconds: number },
): Promise<InvitationRow | undefined> =>
  maybeOne(
    db,
    sql`UPDATE invitation i SET token_hash = ${input.hash}, sent_at = now(),
          expires_at = now() + make_interval(secs => ${input.validSeconds})
        WHERE i.account_id = ${input.accountId} AND i.id = ${input.id}
        RETURNING ${INVITATION}`,
  );

const deleteInvitation = (db: Db, input: { accountId: number; id: number }): Promise<number> =>
  exec(db, sql`DELETE FROM invitation WHERE account_id = ${input.accountId} AND id = ${input.id}`);

const OPEN = columns({
  id: as<number>('i.id'),
  accountId: as<number>('i.account_id'),
  accountName: as<string>('a.name'),
  email: as<string>('i.email'),
  role: as<Role>('i.role'),
  invitedBy: as<number | null>('i.invited_by'),
  /** Current role of the inviting user; null if it was not a user of the account. */
  inviterRole: as<Role | null>('(SELECT u.role FROM app_user u WHERE u.id = i.invited_by)'),
});
type OpenInvitation = RowOf<typeof OPEN>;

/** Finds the invitation of a link, of any account that is not suspended. Undefined if it is used, ended or expired. */
const findOpenInvitation = (db: Db, { hash }: { hash: Buffer }): Promise<OpenInvitation | undefined> =>
  maybeOne(
    db,
    sql`SELECT ${OPEN} FROM invitation i JOIN account a ON a.id = i.account_id
        WHERE i.token_hash = ${hash} AND i.expires_at > now() AND a.status = 'active'`,
  );

/** Deletes an invitation that is being accepted. Returns 0 if it was accepted, revoked or sent again meanwhile. */
const deleteAccepted = (db: Db, input: { accountId: number; hash: Buffer }): Promise<number> =>
  exec(
    db,
    sql`DELETE FROM invitation
        WHERE account_id = ${input.accountId} AND token_hash = ${input.hash} AND expires_at > now()`,
  );

/** Returns true if passwords of the account's users do not sign in, so that an invitation to choose one is useless. */
async function isSingleSignOnRequired(db: Db, { accountId }: { accountId: number }): Promise<boolean> {
  const { required } = await one<{ required: boolean }>(
    db,
    sql`SELECT EXISTS (SELECT FROM single_sign_on WHERE account_id = ${accountId} AND required) AS required`,
  );
  return required;
}

async function findAccountName(db: Db, { accountId }: { accountId: number }): Promise<string> {
  return (await one<{ name: string }>(db, sql`SELECT name FROM account WHERE id = ${accountId}`)).name;
}

/** Deletes invitations that expired a month ago, of all accounts. */
export const deleteOldInvitations = (db: Db): Promise<number> =>
  exec(db, sql`DELETE FROM invitation WHERE expires_at < now() - interval '30 days'`);
