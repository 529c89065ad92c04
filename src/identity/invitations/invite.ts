import type { Config } from '../../platform/config.ts';
import type { Db } from '../../platform/db/query.ts';
import { AppError, invalidFields } from '../../platform/errors.ts';
import { type Holder, type Role } from '../../platform/lib/scope.ts';
import type { SecretKey } from '../../platform/lib/secret-box.ts';
import { mailOrRefuse } from '../../platform/mail/queue.ts';
import { type Author, recordAudit } from '../audit/record.ts';
import { isEmail, type Language } from '../mail-text.ts';
import { requireAuthority } from '../roles.ts';
import { generateToken } from '../sessions/token.ts';
import { findUserByUsername } from '../users/sql.ts';
import { invitationMail } from './mail.ts';
import {
  countInvitations,
  deleteInvitation,
  findAccountName,
  findInvitation,
  insertInvitation,
  type InvitationRow,
  isSingleSignOnRequired,
  updateInvitationLink,
} from './sql.ts';

export type InviteDeps = { readonly config: Pick<Config, 'mail' | 'publicUrl'>; readonly secretKey: SecretKey };
/** Author of an invitation: an actor, or an operator with all rights. */
export type Inviter = Author & Holder;

/** An invitation with its link; the link is null when a mail takes it to the person. */
export type Invited = InvitationRow & { readonly link: string | null };

const VALID_SECONDS = 7 * 24 * 3600;
/** A mail that seems lost is often late. */
const RESEND_AFTER_SECONDS = 300;
/** Maximum number of open invitations of an account. */
const MAX_OPEN = 200;

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
  const former = await findInvitation(tx, { accountId, id });
  if (!former) throw new AppError('not_found');
  requireAuthority(author, former.role);
  if (deps.config.mail !== undefined) refuseTooSoon(former);
  const invitation = await updateInvitationLink(tx, { accountId, id, hash, validSeconds: VALID_SECONDS });
  if (!invitation) throw new AppError('not_found');
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
