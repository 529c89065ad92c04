import { type Author, recordAudit } from '../audit/record.ts';
import type { Db } from '../../platform/db/query.ts';
import { AppError, invalidFields } from '../../platform/errors.ts';
import type { Actor } from '../../platform/lib/actor.ts';
import { open, seal } from '../../platform/lib/secret-box.ts';
import { requireAuthority } from '../roles.ts';
import { endSessionsOfUser } from '../sessions/end.ts';
import { findUser } from '../users/sql.ts';
import { type CodeDeps, secretPlaceOf } from './check-code.ts';
import { replaceRecoveryCodes } from './recovery-codes.ts';
import {
  deletePasskey,
  deletePasskeys,
  deleteRecoveryCodes,
  deleteTotp,
  type FactorOwner,
  findFactorSummary,
  findTotpForUpdate,
  insertPasskey,
  lockUser,
  type NewPasskey,
  type PasskeyRow,
  updateConfirmed,
  upsertPendingSecret,
} from './sql.ts';
import { generateTotpSecret, stepOfCode, totpUri } from './totp.ts';

/** A user who manages their own factors. */
export type Self = FactorOwner & { readonly username: string };

/** Returns the calling user. Errors: 403 for a key, and for an operator who is looking at another account. */
export function selfOf({ kind, accountId, userId, username }: Actor): Self {
  if (kind !== 'user' || userId === null || username === null)
    throw new AppError('forbidden', { message: 'Second factors are only for users in their own account' });
  return { accountId, userId, username };
}

/**
 * Begins the enrolment of an authenticator app: returns its new secret, which replaces an earlier one only when
 * `confirmTotp` has got a code of it. Call it in a transaction.
 */
export async function beginTotp(
  tx: Db,
  { secretKey }: Pick<CodeDeps, 'secretKey'>,
  { accountId, userId, username }: Self,
): Promise<{ secret: string; uri: string }> {
  const secret = generateTotpSecret();
  const pendingSecret = seal(secretKey, secret, secretPlaceOf(userId));
  await upsertPendingSecret(tx, { accountId, userId, pendingSecret });
  return { secret, uri: totpUri(secret, username) };
}

/**
 * Completes the enrolment of an authenticator app with a code that it shows. Returns recovery codes with the first
 * factor of a user, otherwise null. Call it in a transaction. Errors: 409 without `beginTotp`, 400 for a wrong code.
 */
export async function confirmTotp(
  tx: Db,
  { secretKey, clock }: CodeDeps,
  actor: Actor,
  { code }: { code: string },
): Promise<string[] | null> {
  const self = selfOf(actor);
  await lockUser(tx, self);
  const pending = (await findTotpForUpdate(tx, self))?.pendingSecret;
  if (!pending)
    throw new AppError('conflict', { message: 'No enrolment of an authenticator app is pending: begin again' });
  const secret = open(secretKey, pending, secretPlaceOf(self.userId)).toString();
  const step = stepOfCode(secret, code.replaceAll(/\s/g, ''), { at: clock.now(), lastStep: 0 });
  if (step === null)
    throw invalidFields([{ field: 'code', message: 'is not the code that the app shows now; check its clock' }]);
  const isFirst = await isFirstFactor(tx, self);
  await updateConfirmed(tx, { ...self, secret: pending, step });
  return afterAdding(tx, actor, self, { kind: 'totp', isFirst });
}

/**
 * Adds a passkey that was checked. Returns it, with recovery codes if it is the first factor of the user. Call it in a
 * transaction. Errors: 409 if the passkey is registered already.
 */
export async function addPasskey(
  tx: Db,
  actor: Actor,
  passkey: NewPasskey,
): Promise<{ passkey: PasskeyRow; recoveryCodes: string[] | null }> {
  const self = selfOf(actor);
  await lockUser(tx, self);
  const isFirst = await isFirstFactor(tx, self);
  const row = await insertPasskey(tx, { ...self, ...passkey });
  if (!row) throw new AppError('conflict', { message: 'This passkey is registered already' });
  const recoveryCodes = await afterAdding(tx, actor, self, { kind: 'passkey', isFirst });
  return { passkey: row, recoveryCodes };
}

const isFirstFactor = async (tx: Db, self: Self): Promise<boolean> => !(await findFactorSummary(tx, self))?.hasAny;

async function afterAdding(
  tx: Db,
  actor: Actor,
  self: Self,
  { kind, isFirst }: { kind: 'totp' | 'passkey'; isFirst: boolean },
): Promise<string[] | null> {
  await endOthers(tx, actor, self);
  await recordAudit(tx, actor, { action: 'second-factor.add', subject: `user:${self.userId}`, detail: { kind } });
  return isFirst ? replaceRecoveryCodes(tx, self) : null;
}

/** Ends all sessions but the calling one: they were proven with the earlier factors. */
const endOthers = (tx: Db, actor: Actor, { userId }: Self): Promise<number> =>
  endSessionsOfUser(tx, actor, {
    userId,
    exceptId: actor.session?.id ?? null,
    reason: 'the second factors were changed',
  });

/** A factor to remove: the authenticator app, or one of the passkeys. */
export type Removal = { readonly kind: 'totp' } | { readonly kind: 'passkey'; readonly id: number };

/**
 * Removes a factor of the calling user; with the last one, the recovery codes. Call it in a transaction. Errors: 404 if
 * the user has no such factor, 409 if it is the last one and the account requires one.
 */
export async function removeOwnFactor(tx: Db, actor: Actor, removal: Removal): Promise<void> {
  const self = selfOf(actor);
  await lockUser(tx, self);
  const { kind } = removal;
  const removed = await (kind === 'totp' ? deleteTotp(tx, self) : deletePasskey(tx, { ...self, id: removal.id }));
  if (removed === 0) throw new AppError('not_found');
  const left = await findFactorSummary(tx, self);
  if (left && !left.hasAny && left.isRequired)
    throw new AppError('conflict', { message: 'The account requires a second factor: add another one first' });
  if (!left?.hasAny) await deleteRecoveryCodes(tx, self);
  await endOthers(tx, actor, self);
  await recordAudit(tx, actor, { action: 'second-factor.remove', subject: `user:${self.userId}`, detail: { kind } });
}

/** Replaces the recovery codes of the calling user. Call it in a transaction. Errors: 409 without a second factor. */
export async function renewRecoveryCodes(tx: Db, actor: Actor): Promise<string[]> {
  const self = selfOf(actor);
  await lockUser(tx, self);
  if (await isFirstFactor(tx, self)) throw new AppError('conflict', { message: 'Add a second factor first' });
  await recordAudit(tx, actor, { action: 'second-factor.recovery-codes', subject: `user:${self.userId}` });
  return replaceRecoveryCodes(tx, self);
}

/**
 * Removes all factors of another user of the actor's account, who has lost them, and ends the user's sessions. Call it
 * in a transaction. Errors: 404 for an unknown or foreign id; 403 for oneself, when the actor may not manage that role,
 * and for an operator of the gateway unless the actor is one.
 */
export async function removeFactorsOf(tx: Db, actor: Actor, { id }: { id: number }): Promise<void> {
  const user = await findUser(tx, { accountId: actor.accountId, id });
  if (!user) throw new AppError('not_found');
  requireAuthority(actor, user.role);
  if (user.isOperator && actor.isOperator !== true)
    throw new AppError('forbidden', { message: 'This user is an operator of the gateway: only operators may do this' });
  if (id === actor.userId)
    throw new AppError('forbidden', { message: 'Remove your own second factors one by one, in your profile' });
  await removeAllFactors(tx, actor, { userId: id });
}

/** Removes all factors of a user of the author's account and ends the user's sessions. Call it in a transaction. */
export async function removeAllFactors(tx: Db, author: Author, { userId }: { userId: number }): Promise<void> {
  const owner = { accountId: author.accountId, userId };
  await lockUser(tx, owner);
  await deleteTotp(tx, owner);
  await deletePasskeys(tx, owner);
  await deleteRecoveryCodes(tx, owner);
  await endSessionsOfUser(tx, author, { userId, exceptId: null, reason: 'the second factors were removed' });
  await recordAudit(tx, author, { action: 'second-factor.remove', subject: `user:${userId}`, detail: { kind: 'all' } });
}
