import { createHash } from 'node:crypto';
import type { Pool } from 'pg';
import type { Db } from '../../platform/db/query.ts';
import { tenantTransaction } from '../../platform/db/tenant.ts';
import type { Role } from '../../platform/lib/scope.ts';
import { recordAudit, systemAuthor } from '../audit/record.ts';
import { isEmail } from '../mail-text.ts';
import { endSessionsOfUser } from '../sessions/end.ts';
import { UNMATCHABLE_HASH } from '../users/password.ts';
import { insertUser, listAdminsForUpdate, updateRole } from '../users/sql.ts';
import { type Claims, roleOf, SignOnFailure } from './settings.ts';
import { findMember, findUserByName, insertMember, type Member, type SettingsRow, updateRefusal } from './sql.ts';

/** A person whom the provider has identified, and the settings of the account. */
type Arrival = { readonly settings: SettingsRow; readonly claims: Claims };

/**
 * Returns the user of a person: linked at an earlier sign-in, else the user of the account whose username is the
 * verified email address, else a new one. The role follows the groups, but the last admin and the admin kept for
 * emergencies stay admins. Rejects with a SignOnFailure for people whom the settings do not allow, and for operators of
 * the gateway, whom the provider of one account must not be able to name. For people who are denied, sessions end, and
 * the password does not sign in until they are allowed again.
 */
export async function letIn(pool: Pool, arrival: Arrival): Promise<Member> {
  const { settings } = arrival;
  return tenantTransaction(pool, settings, (tx) => admit(tx, arrival)).catch(async (error: unknown) => {
    if (error instanceof SignOnFailure) await tenantTransaction(pool, settings, (tx) => shutOut(tx, arrival));
    throw error;
  });
}

async function admit(tx: Db, { settings, claims }: Arrival): Promise<Member> {
  const role = roleOf(settings, claims);
  const { accountId, issuer } = settings;
  const linked = await findMember(tx, { accountId, issuer, subject: claims.subject });
  const user = linked ?? (await linkByEmail(tx, { settings, claims }));
  if (user?.isOperator) throw new SignOnFailure('not_allowed', 'operators of the gateway sign in with their password');
  if (linked) await updateRefusal(tx, { accountId, issuer, subject: claims.subject, isRefused: false });
  return user ? follow(tx, settings, user, role) : create(tx, { settings, claims }, role);
}

async function shutOut(tx: Db, { settings, claims }: Arrival): Promise<void> {
  const { accountId, issuer } = settings;
  const person = { accountId, issuer, subject: claims.subject };
  const user = await findMember(tx, person);
  if (!user) return;
  await updateRefusal(tx, { ...person, isRefused: true });
  const reason = 'single sign-on was refused';
  await endSessionsOfUser(tx, systemAuthor(accountId), { userId: user.id, exceptId: null, reason });
}

async function linkByEmail(tx: Db, { settings, claims }: Arrival): Promise<Member | undefined> {
  const { accountId, issuer } = settings;
  const { email, subject } = claims;
  const user = email === null ? undefined : await findUserByName(tx, { accountId, username: email });
  if (!user || user.isOperator) return user;
  if ((await insertMember(tx, { accountId, issuer, subject, userId: user.id })) === 0)
    throw new SignOnFailure('not_allowed', 'another person of the provider is this user already');
  await recordLink(tx, settings, user);
  return user;
}

async function follow(tx: Db, settings: SettingsRow, user: Member, role: Role): Promise<Member> {
  const { accountId, emergencyUserId } = settings;
  if (user.role === role) return user;
  if (user.role === 'admin') {
    const admins = await listAdminsForUpdate(tx, { accountId });
    if (user.id === emergencyUserId || admins.every(({ id }) => id === user.id)) return user;
  }
  await updateRole(tx, { accountId, id: user.id, role });
  const detail = { username: user.username, from: user.role, to: role, by: 'single sign-on' };
  await recordAudit(tx, systemAuthor(accountId), { action: 'user.role', subject: `user:${user.id}`, detail });
  return { ...user, role };
}

async function create(tx: Db, { settings, claims }: Arrival, role: Role): Promise<Member> {
  const { accountId, issuer } = settings;
  // The user has no password until a link sets one.
  const passwordHash = UNMATCHABLE_HASH;
  for (const username of usernames(settings, claims)) {
    const made = await insertUser(tx, { accountId, username, passwordHash, role });
    if (!made) continue;
    const user = { id: made.id, username, role, isOperator: false };
    await insertMember(tx, { accountId, issuer, subject: claims.subject, userId: user.id });
    const detail = { username, role, by: 'single sign-on' };
    await recordAudit(tx, systemAuthor(accountId), { action: 'user.create', subject: `user:${user.id}`, detail });
    return user;
  }
  throw new SignOnFailure('not_allowed', 'the username is taken in another account');
}

/** The usernames to try: the email address, then one in a namespace of the account. */
function usernames({ shortName, issuer }: SettingsRow, { email, subject }: Claims): string[] {
  const digest = createHash('sha256')
    .update(JSON.stringify([issuer, subject]))
    .digest('hex');
  return [...(email !== null && isEmail(email) ? [email] : []), `${shortName}.${digest.slice(0, 16)}`];
}

const recordLink = (tx: Db, { accountId, issuer }: SettingsRow, { id, username }: Member): Promise<void> =>
  recordAudit(tx, systemAuthor(accountId), {
    action: 'user.link',
    subject: `user:${id}`,
    detail: { username, issuer },
  });
