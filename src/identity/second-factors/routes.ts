import { Type } from 'typebox';
import { tenant, tenantTransaction } from '../../platform/db/tenant.ts';
import { AppError } from '../../platform/errors.ts';
import type { App, PlatformDeps } from '../../platform/http/app.ts';
import { removalTx } from '../../platform/http/removal.ts';
import { requireCredentials, requireScope } from '../../platform/http/auth.ts';
import { idempotentHandler } from '../../platform/http/idempotency.ts';
import {
  addPasskey,
  beginTotp,
  confirmTotp,
  removeFactorsOf,
  removeOwnFactor,
  renewRecoveryCodes,
  selfOf,
} from './change.ts';
import { registrationOptions, verifyRegistration } from './passkeys/register.ts';
import { relyingPartyOf } from './passkeys/relying-party.ts';
import { BrowserOptions } from './passkeys/schema.ts';
import * as schema from './schema.ts';
import { findFactorSummary, listPasskeys } from './sql.ts';
import { withExamples } from '../../platform/http/schema.ts';

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
      response: { 200: schema.FactorsOut },
    },
    handler: async ({ actor }) => {
      const self = selfOf(actor);
      const db = tenant(pool, actor);
      const [summary, passkeys] = await Promise.all([findFactorSummary(db, self), listPasskeys(db, self)]);
      if (!summary) throw new AppError('not_found');
      return schema.toFactorsOut(summary, passkeys);
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
      response: { 200: schema.TotpBegun },
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
      body: withExamples(schema.TotpCode, { code: '492039' }),
      response: { 200: schema.FactorAdded },
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
    handler: removalTx({ pool }, ({ actor }, tx) => removeOwnFactor(tx, actor, { kind: 'totp' })),
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
      body: withExamples(schema.PasskeyIn, schema.PASSKEY_EXAMPLE),
      response: { 201: schema.PasskeyAdded },
    },
    handler: idempotentHandler({ answers }, async (request, reply) => {
      const { actor } = request;
      const { name, passkey } = request.body;
      const made = await verifyRegistration(pool, relyingPartyOf(request, config), selfOf(actor), passkey);
      const added = await tenantTransaction(pool, actor, (tx) => addPasskey(tx, actor, { ...made, name: name.trim() }));
      reply.code(201);
      return { ...added, passkey: schema.toPasskeyOut(added.passkey) };
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
      params: schema.FactorId,
      response: Removed,
    },
    handler: removalTx({ pool }, ({ actor, params }, tx) => removeOwnFactor(tx, actor, { kind: 'passkey', ...params })),
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
      response: { 200: schema.RecoveryCodesOut },
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
      params: schema.FactorId,
      response: Removed,
    },
    handler: removalTx({ pool }, ({ actor, params }, tx) => removeFactorsOf(tx, actor, params)),
  });
}
