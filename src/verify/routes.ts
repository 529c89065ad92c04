import { type Static, Type } from 'typebox';
import { CHANNELS } from '../core/channels.ts';
import { tenant, tenantTransaction } from '../core/db/transaction.ts';
import { AppError, invalidFields } from '../core/errors.ts';
import { type App, type PlatformDeps, withExamples } from '../core/http/app.ts';
import { requireScope } from '../core/http/auth.ts';
import { idempotentHandler, idempotentTx } from '../core/http/idempotency.ts';
import { channelName, instant, orNull } from '../core/schema.ts';
import type { SecretKey } from '../core/secrets.ts';
import type { Accept } from '../messages/accept.ts';
import type { Lookups } from '../messages/prepare.ts';
import { createBaselines } from './counters.ts';
import { cancelVerification, checkCode, type Checked, recordFeedback } from './ending.ts';
import type { VerifyMeter } from './metrics.ts';
import {
  addService,
  changeService,
  findService,
  listServices,
  MAX_SERVICES,
  removeService,
  type Service,
  ServiceSettings,
  setHookSecret,
  settingsFaults,
} from './services.ts';
import { findVerification, STATES, type Verification } from './store.ts';
import { resendCode, type Started, startVerification } from './verification.ts';

export const VERIFY = '/api/partner-gateway/v1/verify';
const VERIFICATIONS = '/api/partner-gateway/v1/verifications';
const tags = ['Verify'];
const onRequest = requireScope('verify');
/** The limits and the guard of a service decide what codes may cost: an app that sends them must not lift them. */
const toManage = [onRequest, requireScope('keys')];
const uuid = (description?: string) =>
  Type.String({ format: 'uuid', ...(description !== undefined && { description }) });
const Id = Type.Object({ id: uuid() });

const name = Type.String({ minLength: 1, maxLength: 100 });
const { brand, codeLength, alphabet, ttl, maxChecks, maxSends, workflow, codeMode, ...optional } =
  ServiceSettings.properties;
const withDefault = { codeLength, alphabet, ttl, maxChecks, maxSends, workflow, codeMode };
const ServiceIn = Type.Object({
  name,
  brand,
  ...Type.Partial(Type.Object({ ...withDefault, ...optional })).properties,
});
const ServiceChange = Type.Partial(ServiceIn);
const ServiceOut = Type.Object({
  id: uuid(),
  name: Type.String(),
  ...ServiceSettings.properties,
  hasHookSecret: Type.Boolean(),
  createdAt: instant('UTC'),
  updatedAt: instant('UTC'),
});
const ServiceCreated = Type.Object({
  ...ServiceOut.properties,
  challengeSecret: Type.String({
    description:
      'Hex. Signs the proof that a user has passed a challenge: hex HMAC-SHA-256 of `passed`, a NUL and the token.',
  }),
});

const toService = ({ settings, hookSecret, ...service }: Service): Static<typeof ServiceOut> => ({
  id: service.id,
  name: service.name,
  ...settings,
  hasHookSecret: hookSecret !== null,
  createdAt: service.createdAt.toISOString(),
  updatedAt: service.updatedAt.toISOString(),
});

const DEFAULTS = {
  codeLength: 6,
  alphabet: 'digits',
  ttl: 600,
  maxChecks: 5,
  maxSends: 5,
  workflow: [{ channel: 'SMS' }],
  codeMode: 'generated',
} as const satisfies Partial<ServiceSettings>;

function checked(settings: ServiceSettings): ServiceSettings {
  const faults = settingsFaults(settings);
  if (faults.length > 0) throw invalidFields(faults);
  return settings;
}

const Start = {
  channel: Type.Optional(
    Type.Enum([...CHANNELS], {
      type: 'string',
      description: 'The only channel to use. Default: the workflow of the service.',
    }),
  ),
  locale: Type.Optional(Type.String({ maxLength: 20, description: 'Language of the text, such as `pt-BR`.' })),
  ip: Type.Optional(Type.String({ maxLength: 64, description: "The user's address, as your server sees it." })),
  userId: Type.Optional(Type.String({ maxLength: 100, description: 'Your id of the user.' })),
  deviceId: Type.Optional(Type.String({ maxLength: 100, description: "Your id of the user's device." })),
  challengePassed: Type.Optional(
    Type.String({ maxLength: 300, description: 'After `challenge_required`: `TOKEN:PROOF`, signed by your server.' }),
  ),
};
const VerificationIn = Type.Object({
  serviceId: uuid(),
  to: Type.String({ maxLength: 50, description: 'The number.' }),
  ...Start,
  customerReference: Type.Optional(
    Type.String({ maxLength: 100, description: 'Your reference, in events and lists.' }),
  ),
  code: Type.Optional(Type.String({ minLength: 4, maxLength: 10, description: 'With `codeMode: provided`.' })),
});
const VerificationOut = Type.Object({
  id: uuid(),
  serviceId: uuid(),
  status: Type.Enum([...STATES], {
    type: 'string',
    description: 'PENDING; all others are final. UNDELIVERED: no channel has reached the number.',
  }),
  to: Type.String(),
  channel: orNull(channelName('Of the newest send; the next one of the workflow may follow.')),
  sendCount: Type.Integer(),
  checksLeft: Type.Integer(),
  nextResendAt: orNull(instant('Earliest time at which the code is sent again.')),
  expiresAt: instant('UTC'),
  customerReference: orNull(Type.String()),
});

const EXAMPLE: Static<typeof VerificationOut> = {
  id: '01a1fd63-cf7c-7183-929b-000000000015',
  serviceId: '01a1fd63-cf7c-7183-929b-000000000016',
  status: 'PENDING',
  to: '+393331234567',
  channel: 'SMS',
  sendCount: 2,
  checksLeft: 5,
  nextResendAt: '2027-01-15T09:31:30.000Z',
  expiresAt: '2027-01-15T09:40:00.000Z',
  customerReference: null,
};

const toVerification = (v: Verification, maxCheckCount: number): Static<typeof VerificationOut> => ({
  id: v.id,
  serviceId: v.serviceId,
  status: v.status,
  to: v.number,
  channel: v.channel,
  sendCount: v.sends,
  checksLeft: v.status === 'PENDING' ? Math.max(0, maxCheckCount - v.checks) : 0,
  nextResendAt: v.status === 'PENDING' ? (v.resendAt?.toISOString() ?? null) : null,
  expiresAt: v.expiresAt.toISOString(),
  customerReference: v.customerReference,
});

export const Feedback = Type.Object({ outcome: Type.Enum(['converted', 'fraud'], { type: 'string' }) });

const Code = Type.String({ minLength: 1, maxLength: 20, description: 'As the user typed it.' });
const CheckOut = Type.Object({
  id: uuid(),
  status: VerificationOut.properties.status,
  valid: Type.Boolean(),
  checksLeft: Type.Integer({ description: 'Wrong codes that it still takes.' }),
});
const toCheck = (done: Checked): Static<typeof CheckOut> => ({ ...done });

export type VerifyRouteDeps = PlatformDeps & {
  readonly accept: Accept;
  readonly tables: Lookups;
  readonly secretKey: SecretKey;
  /** Omitted where nothing is counted. */
  readonly meter?: VerifyMeter;
};

/** Registers the routes that manage the services of an account. All need the scope `verify`, changes `keys` too. */
export function verifyServiceRoutes(app: App, { pool, answers, secretKey }: VerifyRouteDeps): void {
  app.post(`${VERIFY}/services`, {
    onRequest: toManage,
    config: { secretAnswer: true, stepUp: true },
    schema: {
      tags,
      operationId: 'createVerifyService',
      summary: 'Add a service that verifies numbers',
      description:
        `Texts, channels, limits and guard of the codes of one product. Up to ${MAX_SERVICES}. The challenge secret is shown only in this ` +
        'response. 409: the account has a service with this name.',
      body: withExamples(ServiceIn, {
        name: 'Sign-in',
        brand: 'Acme',
        workflow: [{ channel: 'SMS' }],
        guard: { mode: 'monitor' },
      }),
      response: { 201: ServiceCreated },
    },
    handler: idempotentTx({ pool, answers }, 201, async ({ actor, body: { name: named, ...given } }, tx) => {
      const settings = checked({ ...DEFAULTS, workflow: [...DEFAULTS.workflow], ...given });
      const made = await addService(tx, actor, { name: named, settings, secretKey });
      return { ...toService(made.service), challengeSecret: made.challengeSecret };
    }),
  });

  app.get(`${VERIFY}/services`, {
    onRequest,
    schema: {
      tags,
      operationId: 'listVerifyServices',
      summary: 'List the services that verify numbers',
      response: { 200: Type.Array(ServiceOut) },
    },
    handler: async ({ actor }) => (await listServices(tenant(pool, actor), actor)).map(toService),
  });

  app.get(`${VERIFY}/services/:id`, {
    onRequest,
    schema: {
      tags,
      operationId: 'findVerifyService',
      summary: 'Get a service that verifies numbers',
      params: Id,
      response: { 200: ServiceOut },
    },
    handler: async ({ actor, params }) =>
      toService(await findService(tenant(pool, actor), { accountId: actor.accountId, id: params.id })),
  });

  app.patch(`${VERIFY}/services/:id`, {
    onRequest: toManage,
    config: { stepUp: true },
    schema: {
      tags,
      operationId: 'updateVerifyService',
      summary: 'Change a service that verifies numbers',
      description: 'Omitted fields stay as they are; objects such as `guard` are replaced as a whole.',
      params: Id,
      body: withExamples(ServiceChange, { guard: { mode: 'standard', maxCostPerHour: 20 } }),
      response: { 200: ServiceOut },
    },
    handler: ({ actor, params, body: { name: named, ...change } }) =>
      tenantTransaction(pool, actor, async (tx) => {
        const before = await findService(tx, { accountId: actor.accountId, id: params.id });
        const settings = checked({ ...before.settings, ...change });
        return toService(await changeService(tx, actor, { id: before.id, name: named ?? before.name, settings }));
      }),
  });

  app.delete(`${VERIFY}/services/:id`, {
    onRequest: toManage,
    config: { stepUp: true },
    schema: {
      tags,
      operationId: 'deleteVerifyService',
      summary: 'Delete a service that verifies numbers',
      description: 'Its verifications stay in lists and statistics as long as messages do.',
      params: Id,
      response: { 204: Type.Null({ description: 'Deleted' }) },
    },
    handler: async ({ actor, params }, reply) => {
      await tenantTransaction(pool, actor, (tx) => removeService(tx, actor, params));
      return reply.code(204).send(null);
    },
  });

  app.put(`${VERIFY}/services/:id/hook-secret`, {
    onRequest: toManage,
    config: { stepUp: true },
    schema: {
      tags,
      operationId: 'setVerifyHookSecret',
      summary: 'Set the secret of the hooks of a service',
      description:
        'With it, an identity product may send codes over the service: that of Supabase (`v1,whsec_…`), or any of 16 to 200 ' +
        'characters that the others show as a bearer token. Stored encrypted, and never shown again.',
      params: Id,
      body: withExamples(Type.Object({ secret: Type.String({ minLength: 16, maxLength: 200, writeOnly: true }) }), {
        secret: 'v1,whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
      }),
      response: { 204: Type.Null({ description: 'Set' }) },
    },
    handler: async ({ actor, params, body: { secret } }, reply) => {
      await tenantTransaction(pool, actor, (tx) => setHookSecret(tx, actor, { id: params.id, secret, secretKey }));
      return reply.code(204).send(null);
    },
  });
}

/** Registers the routes of verifications: start, check, resend, cancel. All need the scope `verify`. */
export function verificationRoutes(app: App, deps: VerifyRouteDeps): void {
  const { pool, answers } = deps;
  const verifying = { ...deps, baselines: createBaselines() };
  const show = async (v: Verification): Promise<Static<typeof VerificationOut>> => {
    const service = await findService(tenant(pool, v), { accountId: v.accountId, id: v.serviceId }).catch(() => null);
    return toVerification(v, service?.settings.maxChecks ?? DEFAULTS.maxChecks);
  };

  app.post(VERIFICATIONS, {
    onRequest,
    schema: {
      tags,
      operationId: 'startVerification',
      summary: 'Send a code to a number',
      description:
        'A number has one open verification for a service: while there is one, its code is sent again (200, the same id). 403 ' +
        '`verification_blocked` or `challenge_required` by the guard, 429 `resend_too_soon`, `too_many_codes`, `number_locked` or ' +
        '`cost_cap`, 409 if the message was rejected, for example without credit.',
      body: withExamples(VerificationIn, {
        serviceId: '01a1fd63-cf7c-7183-929b-000000000016',
        to: '+393331234567',
        ip: '203.0.113.7',
      }),
      response: { 200: withExamples(VerificationOut, EXAMPLE), 201: VerificationOut },
    },
    handler: idempotentHandler({ answers }, async ({ actor, body: { serviceId, ...start } }, reply, pendingAnswer) => {
      const service = await findService(tenant(pool, actor), { accountId: actor.accountId, id: serviceId });
      const { verification, isNew }: Started = await startVerification(verifying, actor, service, start);
      const out = toVerification(verification, service.settings.maxChecks);
      reply.code(isNew ? 201 : 200);
      if (pendingAnswer) await answers.storeSoon(pendingAnswer.seal(out));
      return out;
    }),
  });

  app.post(`${VERIFICATIONS}/check`, {
    onRequest,
    schema: {
      tags,
      operationId: 'checkVerificationByNumber',
      summary: 'Check the code of a number',
      description: 'As by its id. 404 `no_open_verification` if the number has none for the service.',
      body: withExamples(Type.Object({ serviceId: uuid(), to: Type.String({ maxLength: 50 }), code: Code }), {
        serviceId: '01a1fd63-cf7c-7183-929b-000000000016',
        to: '+393331234567',
        code: '123456',
      }),
      response: { 200: CheckOut },
    },
    handler: idempotentHandler({ answers }, async ({ actor, body }, _reply, pendingAnswer) => {
      const out = toCheck(await checkCode(deps, actor, body));
      if (pendingAnswer) await answers.storeSoon(pendingAnswer.seal(out));
      return out;
    }),
  });

  app.post(`${VERIFICATIONS}/:id/check`, {
    onRequest,
    schema: {
      tags,
      operationId: 'checkVerification',
      summary: 'Check a code',
      description:
        'The right code is approved once: 409 `already_used` afterwards. Wrong codes count for the verification, which ends ' +
        'MAX_CHECKS, and for the number over all its verifications: 10 in an hour lock it for an hour, 20 in a day for a day (429 ' +
        '`number_locked`).',
      params: Id,
      body: withExamples(Type.Object({ code: Code }), { code: '123456' }),
      response: { 200: CheckOut },
    },
    handler: idempotentHandler({ answers }, async ({ actor, params, body }, _reply, pendingAnswer) => {
      const out = toCheck(await checkCode(deps, actor, { ...params, ...body }));
      if (pendingAnswer) await answers.storeSoon(pendingAnswer.seal(out));
      return out;
    }),
  });

  app.post(`${VERIFICATIONS}/:id/resend`, {
    onRequest,
    schema: {
      tags,
      operationId: 'resendVerification',
      summary: 'Send the code of a verification again',
      description:
        'The same code, 30, 60, 120 and then 300 seconds after the send before it. It lives for two more minutes at least.',
      params: Id,
      body: withExamples(Type.Object(Start), { channel: 'SMS' }),
      response: { 200: withExamples(VerificationOut, EXAMPLE) },
    },
    handler: idempotentHandler({ answers }, async ({ actor, params, body }, _reply, pendingAnswer) => {
      const out = await show(await resendCode(verifying, actor, { ...params, ...body }));
      if (pendingAnswer) await answers.storeSoon(pendingAnswer.seal(out));
      return out;
    }),
  });

  app.get(`${VERIFICATIONS}/:id`, {
    onRequest,
    schema: {
      tags,
      operationId: 'findVerification',
      summary: 'Get a verification',
      params: Id,
      response: { 200: VerificationOut },
    },
    handler: async ({ actor, params }) => {
      const v = await findVerification(tenant(pool, actor), { accountId: actor.accountId, id: params.id });
      if (!v) throw new AppError('not_found');
      return show(v);
    },
  });

  app.delete(`${VERIFICATIONS}/:id`, {
    onRequest,
    schema: {
      tags,
      operationId: 'cancelVerification',
      summary: 'Cancel a verification',
      description: 'Its code is deleted and not accepted any more. 409 if it has ended.',
      params: Id,
      response: { 204: Type.Null({ description: 'Cancelled' }) },
    },
    handler: async ({ actor, params }, reply) => {
      await cancelVerification(deps, actor, params.id);
      return reply.code(204).send(null);
    },
  });

  app.post(`${VERIFICATIONS}/:id/feedback`, {
    onRequest,
    schema: {
      tags,
      operationId: 'reportVerification',
      summary: 'Report what became of a verification',
      description: 'For codes that you check yourself: the guard learns from it. Once for each verification.',
      params: Id,
      body: withExamples(Feedback, { outcome: 'converted' }),
      response: { 204: Type.Null({ description: 'Recorded' }) },
    },
    handler: idempotentTx({ pool, answers }, 204, ({ actor, params, body }, tx) =>
      recordFeedback(tx, actor, { ...params, ...body, at: deps.clock.now() }),
    ),
  });
}
