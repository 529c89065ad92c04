import type { Command } from 'commander';
import type { Pool } from 'pg';
import { type Static, Type } from 'typebox';
import { type Actor, requireAuthority } from '../core/actor.ts';
import type { CommandContext } from '../core/cli.ts';
import type { Db } from '../core/db/query.ts';
import { tenant, tenantTransaction, transaction } from '../core/db/transaction.ts';
import { AppError, existing, invalidFields } from '../core/errors.ts';
import { type App, type PlatformDeps, withExamples } from '../core/http/app.ts';
import { requireCredentials, requireScope } from '../core/http/auth.ts';
import { idempotentHandler } from '../core/http/idempotency.ts';
import { id, instant, orNull } from '../core/schema.ts';
import { open, seal } from '../core/secrets.ts';
import { type Author, operatorAuthor, recordAudit } from './audit.ts';
import {
  BrowserOptions,
  RegistrationBody,
  registrationOptions,
  relyingPartyOf,
  verifyRegistration,
} from './passkeys.ts';
import {
  type CodeDeps,
  deletePasskey,
  deletePasskeys,
  deleteRecoveryCodes,
  deleteTotp,
  type FactorOwner,
  type FactorSummary,
  findFactorSummary,
  findTotpForUpdate,
  generateTotpSecret,
  insertPasskey,
  listPasskeys,
  lockUser,
  type NewPasskey,
  type PasskeyRow,
  replaceRecoveryCodes,
  secretPlaceOf,
  stepOfCode,
  totpUri,
  updateConfirmed,
  upsertPendingSecret,
} from './second-factors.ts';
import { endSessionsOfUser } from './sessions.ts';
import { findUser, findUserByUsername } from './users.ts';

const USERS = '/api/partner-gateway/v1/users';
const OWN = `${USERS}/me/second-factors`;
const tags = ['Sessions'];
const Removed = { 204: Type.Null({ description: 'Removed' }) };

const FOR_USERS = 'Only for users in their own account; keys have no second factors (403).';
const ENDS_OTHERS = 'All other sessions of the user end.';

/**
 * Registers the routes for second factors. Their responses contain secrets, so none is stored under an Idempotency-Key:
 * a repeated request only replaces what the first one began.
 */
export function secondFactorRoutes(app: App, deps: PlatformDeps): void {
  readRoutes(app, deps);
  totpRoutes(app, deps);
  passkeyRoutes(app, deps);
  recoveryRoutes(app, deps);
}

function readRoutes(app: App, { pool }: PlatformDeps): void {
  app.get(OWN, {
    onRequest: requireCredentials(),
    schema: {
      tags,
      operationId: 'listSecondFactors',
      summary: 'List your second factors',
      description: FOR_USERS,
      response: { 200: FactorsOut },
    },
    handler: async ({ actor }) => {
      const self = selfOf(actor);
      const db = tenant(pool, actor);
      const [summary, passkeys] = await Promise.all([findFactorSummary(db, self), listPasskeys(db, self)]);
      if (!summary) throw new AppError('not_found');
      return toFactorsOut(summary, passkeys);
    },
  });
}

function totpRoutes(app: App, deps: PlatformDeps): void {
  const { pool, answers } = deps;
  const onRequest = requireCredentials();

  app.post(`${OWN}/totp`, {
    onRequest,
    config: { stepUp: true },
    schema: {
      tags,
      operationId: 'beginTotp',
      summary: 'Begin to add an authenticator app',
      description:
        `Returns a new secret. It counts after \`POST ${OWN}/totp/confirm\`; until then an earlier app stays valid. ` +
        FOR_USERS,
      response: { 200: TotpBegun },
    },
    handler: idempotentHandler({ answers }, ({ actor }) =>
      tenantTransaction(pool, actor, (tx) => beginTotp(tx, deps, selfOf(actor))),
    ),
  });

  app.post(`${OWN}/totp/confirm`, {
    onRequest,
    config: { stepUp: true },
    schema: {
      tags,
      operationId: 'confirmTotp',
      summary: 'Complete adding an authenticator app with a code that it shows',
      description: `${ENDS_OTHERS} With your first second factor you get recovery codes.`,
      body: withExamples(TotpCode, { code: '492039' }),
      response: { 200: FactorAdded },
    },
    handler: idempotentHandler({ answers }, async ({ actor, body }) => ({
      recoveryCodes: await tenantTransaction(pool, actor, (tx) => confirmTotp(tx, deps, actor, body)),
    })),
  });

  app.delete(`${OWN}/totp`, {
    onRequest,
    config: { stepUp: true },
    schema: {
      tags,
      operationId: 'removeTotp',
      summary: 'Remove your authenticator app',
      description: `${ENDS_OTHERS} 409 if it is your last second factor and the account requires one.`,
      response: Removed,
    },
    handler: ({ actor }) => tenantTransaction(pool, actor, (tx) => removeOwnFactor(tx, actor, { kind: 'totp' })),
  });
}

function passkeyRoutes(app: App, deps: PlatformDeps): void {
  const { pool, answers, config } = deps;
  const onRequest = requireCredentials();

  app.post(`${OWN}/passkeys/options`, {
    onRequest,
    config: { stepUp: true },
    schema: {
      tags,
      operationId: 'beginPasskey',
      summary: 'Begin to add a passkey',
      description: `Returns the options for \`navigator.credentials.create\`, valid for five minutes. ${FOR_USERS}`,
      response: { 200: BrowserOptions },
    },
    handler: idempotentHandler({ answers }, async (request) => {
      const self = selfOf(request.actor);
      const existing = await listPasskeys(tenant(pool, self), self);
      return registrationOptions(pool, relyingPartyOf(request, config), self, existing);
    }),
  });

  app.post(`${OWN}/passkeys`, {
    onRequest,
    config: { stepUp: true },
    schema: {
      tags,
      operationId: 'addPasskey',
      summary: 'Add a passkey',
      description: `It is a second factor, and lets you sign in without a password. ${ENDS_OTHERS}`,
      body: withExamples(PasskeyIn, PASSKEY_EXAMPLE),
      response: { 201: PasskeyAdded },
    },
    handler: idempotentHandler({ answers }, async (request, reply) => {
      const { actor } = request;
      const { name, passkey } = request.body;
      const made = await verifyRegistration(pool, relyingPartyOf(request, config), selfOf(actor), passkey);
      const added = await tenantTransaction(pool, actor, (tx) => addPasskey(tx, actor, { ...made, name: name.trim() }));
      reply.code(201);
      return { ...added, passkey: toPasskeyOut(added.passkey) };
    }),
  });

  app.delete(`${OWN}/passkeys/:id`, {
    onRequest,
    config: { stepUp: true },
    schema: {
      tags,
      operationId: 'removePasskey',
      summary: 'Remove one of your passkeys',
      description: `${ENDS_OTHERS} 409 if it is your last second factor and the account requires one.`,
      params: FactorId,
      response: Removed,
    },
    handler: ({ actor, params }) =>
      tenantTransaction(pool, actor, (tx) => removeOwnFactor(tx, actor, { kind: 'passkey', ...params })),
  });
}

function recoveryRoutes(app: App, { pool, answers }: PlatformDeps): void {
  app.post(`${OWN}/recovery-codes`, {
    onRequest: requireCredentials(),
    config: { stepUp: true },
    schema: {
      tags,
      operationId: 'renewRecoveryCodes',
      summary: 'Replace your recovery codes',
      description: 'The earlier ones no longer work. 409 without a second factor.',
      response: { 200: RecoveryCodesOut },
    },
    handler: idempotentHandler({ answers }, async ({ actor }) => ({
      recoveryCodes: await tenantTransaction(pool, actor, (tx) => renewRecoveryCodes(tx, actor)),
    })),
  });

  app.delete(`${USERS}/:id/second-factors`, {
    onRequest: requireScope('keys'),
    config: { stepUp: true },
    schema: {
      tags,
      operationId: 'removeSecondFactorsOfUser',
      summary: 'Remove all second factors of another user, who has lost them',
      description:
        'The sessions of that user end. Verify first that the request is from the user: afterwards the password ' +
        'alone is enough. Not for yourself (403).',
      params: FactorId,
      response: Removed,
    },
    handler: ({ actor, params }) => tenantTransaction(pool, actor, (tx) => removeFactorsOf(tx, actor, params)),
  });
}

const recoveryCodes = () =>
  Type.Array(Type.String(), {
    description: 'Each code replaces a second factor once. They cannot be shown again.',
  });

const PasskeyOut = Type.Object({
  id: Type.Integer(),
  name: Type.String(),
  createdAt: instant('UTC'),
  lastUsedAt: orNull(instant('UTC')),
});

const FactorsOut = Type.Object({
  totp: orNull(
    Type.Object({ confirmedAt: instant('UTC') }, { description: 'The authenticator app; null without one.' }),
  ),
  passkeys: Type.Array(PasskeyOut),
  recoveryCodesLeft: Type.Integer(),
  required: Type.Boolean({ description: 'True if the account requires a second factor.' }),
});

const TotpBegun = Type.Object({
  secret: Type.String({ description: 'Base32, for apps that cannot read a QR code.' }),
  uri: Type.String({ description: 'An `otpauth://` URI, for a QR code.' }),
});

/** A code as typed, with room for spaces and hyphens. */
export const code = (description: string) => Type.String({ minLength: 1, maxLength: 40, description });

const TotpCode = Type.Object({ code: code('The six digits that the app shows.') });

const FactorAdded = Type.Object({
  recoveryCodes: orNull(recoveryCodes()),
});

const RecoveryCodesOut = Type.Object({ recoveryCodes: recoveryCodes() });

const PasskeyIn = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 100, pattern: '\\S', description: 'To tell several passkeys apart.' }),
  passkey: RegistrationBody,
});

const PASSKEY_EXAMPLE: Static<typeof PasskeyIn> = {
  name: 'My laptop',
  passkey: {
    id: 'AVxG9hK1r0f1v3sO5mJ2wQ',
    rawId: 'AVxG9hK1r0f1v3sO5mJ2wQ',
    type: 'public-key',
    response: { clientDataJSON: 'eyJ0eXBlIjoid2ViYXV0aG4uY3JlYXRlIn0', attestationObject: 'o2NmbXRkbm9uZQ' },
  },
};

const PasskeyAdded = Type.Object({ passkey: PasskeyOut, recoveryCodes: orNull(recoveryCodes()) });

const FactorId = Type.Object({ id: id() });

const toPasskeyOut = (row: PasskeyRow): Static<typeof PasskeyOut> => ({
  id: row.id,
  name: row.name,
  createdAt: row.createdAt.toISOString(),
  lastUsedAt: row.lastUsedAt?.toISOString() ?? null,
});

/** Formats the factors of a user for responses. */
const toFactorsOut = (
  { totpSince, recoveryCodes: left, isRequired }: FactorSummary,
  passkeys: readonly PasskeyRow[],
): Static<typeof FactorsOut> => ({
  totp: totpSince && { confirmedAt: totpSince.toISOString() },
  passkeys: passkeys.map(toPasskeyOut),
  recoveryCodesLeft: left,
  required: isRequired,
});

/** A user who manages their own factors. */
type Self = FactorOwner & { readonly username: string };

/** Returns the calling user. Errors: 403 for a key, and for an operator who is looking at another account. */
function selfOf({ kind, accountId, userId, username }: Actor): Self {
  if (kind !== 'user' || userId === null || username === null)
    throw new AppError('forbidden', { message: 'Second factors are only for users in their own account' });
  return { accountId, userId, username };
}

/**
 * Begins the enrolment of an authenticator app: returns its new secret, which replaces an earlier one only when
 * `confirmTotp` has got a code of it. Call it in a transaction.
 */
async function beginTotp(
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
async function confirmTotp(
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
async function addPasskey(
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
type Removal = { readonly kind: 'totp' } | { readonly kind: 'passkey'; readonly id: number };

/**
 * Removes a factor of the calling user; with the last one, the recovery codes. Call it in a transaction. Errors: 404 if
 * the user has no such factor, 409 if it is the last one and the account requires one.
 */
async function removeOwnFactor(tx: Db, actor: Actor, removal: Removal): Promise<void> {
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
async function renewRecoveryCodes(tx: Db, actor: Actor): Promise<string[]> {
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
async function removeFactorsOf(tx: Db, actor: Actor, { id }: { id: number }): Promise<void> {
  const user = await existing(findUser(tx, { accountId: actor.accountId, id }));
  requireAuthority(actor, user.role);
  if (user.isOperator && actor.isOperator !== true)
    throw new AppError('forbidden', { message: 'This user is an operator of the gateway: only operators may do this' });
  if (id === actor.userId)
    throw new AppError('forbidden', { message: 'Remove your own second factors one by one, in your profile' });
  await removeAllFactors(tx, actor, { userId: id });
}

/** Removes all factors of a user of the author's account and ends the user's sessions. Call it in a transaction. */
async function removeAllFactors(tx: Db, author: Author, { userId }: { userId: number }): Promise<void> {
  const owner = { accountId: author.accountId, userId };
  await lockUser(tx, owner);
  await deleteTotp(tx, owner);
  await deletePasskeys(tx, owner);
  await deleteRecoveryCodes(tx, owner);
  await endSessionsOfUser(tx, author, { userId, exceptId: null, reason: 'the second factors were removed' });
  await recordAudit(tx, author, { action: 'second-factor.remove', subject: `user:${userId}`, detail: { kind: 'all' } });
}

/** Registers `account remove-second-factors`. */
export function registerSecondFactorCommands(account: Command, context: CommandContext): void {
  account
    .command('remove-second-factors')
    .argument('<username>', 'username of a user of any account')
    .description('remove all second factors of a user who has lost them, and end the sessions of that user')
    .action(async (username: string) =>
      context.report(await context.withDatabase((pool) => removeFactors(pool, username)), showRemoved),
    );
}

async function removeFactors(pool: Pool, username: string): Promise<{ username: string; accountId: number }> {
  const user = await findUserByUsername(pool, { username });
  if (!user) throw new AppError('not_found', { message: `There is no user ${username}` });
  const { id: userId, accountId } = user;
  await transaction(pool, (tx) => removeAllFactors(tx, operatorAuthor(accountId), { userId }));
  return { username, accountId };
}

const showRemoved = ({ username }: { username: string }): string =>
  `${username} has no second factors any more and can sign in with the password alone.`;
