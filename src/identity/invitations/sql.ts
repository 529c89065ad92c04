import { type Db, exec, many, maybeOne, one, sql } from '../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../platform/db/select.ts';
import type { Role } from '../../platform/lib/scope.ts';

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
/** An invitation as shown in lists. */
export type InvitationRow = RowOf<typeof INVITATION>;

export type NewInvitation = {
  readonly accountId: number;
  readonly email: string;
  readonly role: Role;
  readonly hash: Buffer;
  readonly invitedBy: number | null;
  readonly validSeconds: number;
};

/** Inserts an invitation. Returns undefined if the account has one for this address already. */
export const insertInvitation = (db: Db, made: NewInvitation): Promise<InvitationRow | undefined> =>
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

export async function countInvitations(db: Db, { accountId }: { accountId: number }): Promise<number> {
  const { total } = await one<{ total: number }>(
    db,
    sql`SELECT count(*) AS total FROM invitation WHERE account_id = ${accountId}`,
  );
  return total;
}

export const findInvitation = (db: Db, input: { accountId: number; id: number }): Promise<InvitationRow | undefined> =>
  maybeOne(
    db,
    sql`SELECT ${INVITATION} FROM invitation i WHERE i.account_id = ${input.accountId} AND i.id = ${input.id}`,
  );

/** Replaces the link of an invitation: the earlier one ends. Returns undefined if there is no such invitation. */
export const updateInvitationLink = (
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

export const deleteInvitation = (db: Db, input: { accountId: number; id: number }): Promise<number> =>
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
export type OpenInvitation = RowOf<typeof OPEN>;

/** Finds the invitation of a link, of any account that is not suspended. Undefined if it is used, ended or expired. */
export const findOpenInvitation = (db: Db, { hash }: { hash: Buffer }): Promise<OpenInvitation | undefined> =>
  maybeOne(
    db,
    sql`SELECT ${OPEN} FROM invitation i JOIN account a ON a.id = i.account_id
        WHERE i.token_hash = ${hash} AND i.expires_at > now() AND a.status = 'active'`,
  );

/** Deletes an invitation that is being accepted. Returns 0 if it was accepted, revoked or sent again meanwhile. */
export const deleteAccepted = (db: Db, input: { accountId: number; hash: Buffer }): Promise<number> =>
  exec(
    db,
    sql`DELETE FROM invitation
        WHERE account_id = ${input.accountId} AND token_hash = ${input.hash} AND expires_at > now()`,
  );

/** Returns true if passwords of the account's users do not sign in, so that an invitation to choose one is useless. */
export async function isSingleSignOnRequired(db: Db, { accountId }: { accountId: number }): Promise<boolean> {
  const { required } = await one<{ required: boolean }>(
    db,
    sql`SELECT EXISTS (SELECT FROM single_sign_on WHERE account_id = ${accountId} AND required) AS required`,
  );
  return required;
}

/** Returns the name of an account. */
export async function findAccountName(db: Db, { accountId }: { accountId: number }): Promise<string> {
  return (await one<{ name: string }>(db, sql`SELECT name FROM account WHERE id = ${accountId}`)).name;
}

/** Deletes invitations that expired a month ago, of all accounts. */
export const deleteOldInvitations = (db: Db): Promise<number> =>
  exec(db, sql`DELETE FROM invitation WHERE expires_at < now() - interval '30 days'`);
