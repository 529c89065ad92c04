import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { refuseAtGate } from '../accounts/accounts.ts';
import type { CountSigned } from '../accounts/authenticate.ts';
import { channelSet } from '../core/channels.ts';
import type { Db } from '../core/db/query.ts';
import { groupCommit } from '../core/db/transaction.ts';
import { AppError } from '../core/errors.ts';
import { type App, ErrorOut, ref, withExamples } from '../core/http/app.ts';
import { createKnownCallers } from '../core/http/unauthenticated.ts';
import { numberRulesOf } from '../core/phone.ts';
import { isRecord } from '../core/schema.ts';
import { SECOND_MS } from '../core/time.ts';
import { createBaselines } from './counters.ts';
import type { VerifyRouteDeps } from './routes.ts';
import { type HookedService, listHookedServices, openHookSecret } from './services.ts';
import { type Start, startVerification } from './verification.ts';

type Signed = { readonly headers: IncomingHttpHeaders; readonly body: Buffer; readonly now: Date };

/** An identity product that sends its codes through a service: how it signs, what it sends, what it expects. */
type Product = {
  readonly title: string;
  readonly source: string;
  readonly signatureHeader: string;
  isSigned(secret: string, request: Signed): boolean;
  /** Reads the code and its number; null if the body has none. */
  read(body: Record<string, unknown>): Pick<Start, 'to' | 'code' | 'locale' | 'userId'> | null;
  /** The status and the body of the response; `error` is null when the code was sent. */
  answer(error: AppError | null): readonly [status: number, body: object];
};

/** Seconds by which the time of a signature may differ from ours, as these products recommend. */
const TOLERANCE_SECONDS = 300;

const hmac = (secret: string | Buffer, content: string | Buffer): Buffer =>
  createHmac('sha256', secret).update(content).digest();

function isSame(shown: Buffer, own: Buffer): boolean {
  return shown.length === own.length && timingSafeEqual(shown, own);
}

const isRecent = (seconds: string, now: Date): boolean =>
  Math.abs(now.getTime() / SECOND_MS - Number(seconds)) <= TOLERANCE_SECONDS;

const header = (headers: IncomingHttpHeaders, name: string): string => String(headers[name] ?? '');
const text = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);
const record = (value: unknown): Record<string, unknown> => (isRecord(value) ? value : {});
/** Some products store numbers without the plus. */
const withPlus = (phone: string): string => (phone.startsWith('+') ? phone : `+${phone}`);

const SUPABASE: Product = {
  title: 'Supabase Auth',
  source: 'supabase.com/docs/guides/auth/auth-hooks/send-sms-hook',
  signatureHeader: 'webhook-signature',
  isSigned(secret, { headers, body, now }) {
    const key = Buffer.from(secret.replace(/^v1,/, '').replace(/^whsec_/, ''), 'base64');
    const [id, time] = [header(headers, 'webhook-id'), header(headers, 'webhook-timestamp')];
    const own = hmac(key, Buffer.concat([Buffer.from(`${id}.${time}.`), body]));
    const shown = header(headers, 'webhook-signature').split(' ');
    return isRecent(time, now) && shown.some((each) => isSame(Buffer.from(each.replace(/^v1,/, ''), 'base64'), own));
  },
  read({ user, sms }) {
    const [to, code] = [text(record(user)['phone']), text(record(sms)['otp'])];
    return to && code ? { to: withPlus(to), code, userId: text(record(user)['id']) } : null;
  },
  // An error in a response of 200 is shown to the user; one of another status is not, and 429 would be repeated.
  answer: (error) => [200, error ? { error: { http_code: error.status, message: error.message } } : {}],
};

const ZITADEL: Product = {
  title: 'Zitadel',
  source: 'zitadel.com/docs/guides/manage/customize/notification-providers',
  signatureHeader: 'zitadel-signature',
  isSigned(secret, { headers, body, now }) {
    const parts = header(headers, 'zitadel-signature')
      .split(',')
      .map((part) => part.split('=', 2));
    const time = parts.find(([name]) => name === 't')?.[1] ?? '';
    const own = hmac(secret, Buffer.concat([Buffer.from(`${time}.`), body]));
    const shown = parts.filter(([name]) => name === 'v1').map(([, value = '']) => Buffer.from(value, 'hex'));
    return isRecent(time, now) && shown.some((each) => isSame(each, own));
  },
  read({ contextInfo, args }) {
    const to = text(record(contextInfo)['recipientPhoneNumber']);
    const code = text(record(args)['code']) ?? text(record(args)['otp']) ?? text(record(args)['oTP']);
    return to && code ? { to: withPlus(to), code } : null;
  },
  answer: (error) => [error?.status ?? 200, error ? { message: error.message } : {}],
};

/** The codes of responses that authgear understands. */
const AUTHGEAR_CODES: Readonly<Partial<Record<AppError['code'], string>>> = {
  invalid: 'invalid_phone_number',
  rate_limited: 'rate_limited',
  resend_too_soon: 'rate_limited',
  too_many_codes: 'rate_limited',
  number_locked: 'rate_limited',
  cost_cap: 'rate_limited',
};

const AUTHGEAR: Product = {
  title: 'authgear',
  source: 'github.com/authgear/authgear-server, pkg/lib/infra/sms/custom',
  signatureHeader: 'x-authgear-body-signature',
  isSigned: (secret, { headers, body }) =>
    isSame(Buffer.from(header(headers, 'x-authgear-body-signature'), 'hex'), hmac(secret, body)),
  read({ to, template_variables: variables, language_tag: locale }) {
    const [number, code] = [text(to), text(record(variables)['code'])];
    return number && code ? { to: withPlus(number), code, locale: text(locale) } : null;
  },
  answer: (error) => [
    200,
    error ? { code: AUTHGEAR_CODES[error.code] ?? 'delivery_rejected', error_detail: error.message } : { code: 'ok' },
  ],
};

const PRODUCTS = { supabase: SUPABASE, zitadel: ZITADEL, authgear: AUTHGEAR };
const MAX_BODY_BYTES = 16 * 1024;
const Out = Type.Object({}, { additionalProperties: true, description: 'As the product expects it.' });

export type VerifyHookDeps = VerifyRouteDeps & { readonly countSigned: CountSigned };

/**
 * Registers the hooks of identity products, which make and check codes themselves and let a service of the mode `provided`
 * send them. The signature with the secret of the service is the credential; an unknown service is like a wrong signature.
 * A signed request counts like one with a key of the account, and comes from an address on its allow-list.
 */
export function verifyHookRoutes(app: App, deps: VerifyHookDeps): void {
  const verifying = { ...deps, baselines: createBaselines() };
  const known = createKnownCallers();
  const findHooked = groupCommit({ flush: (ids: string[]) => findHookedServices(deps.pool, ids), inFlight: 2 });
  app.register(async (scope: App) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, octets, done) => done(null, octets));
    for (const [name, product] of Object.entries(PRODUCTS))
      scope.post(`/hooks/${name}/send-sms/:serviceId`, {
        bodyLimit: MAX_BODY_BYTES,
        // Customers of one identity product share its addresses: failures of one must not lock out the others.
        config: { unauthenticated: true, isKnownCaller: (request) => known.has(serviceIdIn(request), request.ip) },
        // A body without the header of its signature is not read.
        onRequest: ({ headers }, _reply, done) =>
          done(headers[product.signatureHeader] === undefined ? new AppError('unauthenticated') : undefined),
        schema: {
          tags: ['Verify'],
          security: [],
          operationId: `send${name.slice(0, 1).toUpperCase()}${name.slice(1)}Code`,
          summary: `Send a code of ${product.title}`,
          description: `The body and the signature of ${product.title} (${product.source}). 401 if the signature is missing or wrong. An enforced allow-list of the account must contain its addresses.`,
          params: Type.Object({ serviceId: Type.String({ format: 'uuid' }) }),
          response: { 200: withExamples(Out, { ...product.answer(null)[1] }), 401: ref(ErrorOut) },
        },
        handler: (request, reply) => receive(product, request, reply),
      });
  });

  async function receive(product: Product, request: FastifyRequest, reply: FastifyReply) {
    const serviceId = serviceIdIn(request);
    const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
    const service = await findHooked(serviceId);
    const secret = service ? openHookSecret(deps.secretKey, service) : null;
    const isSigned = product.isSigned(secret ?? 'none', { headers: request.headers, body, now: deps.clock.now() });
    if (!service || secret === null || !isSigned) throw new AppError('unauthenticated');
    known.add(serviceId, request.ip);
    const [status, answer] = product.answer(await send(product, service, { body, ip: request.ip }));
    return reply.code(status as 200).send(answer);
  }

  /** Sends the code of a request that is signed; returns the error that keeps it from being sent. */
  async function send(product: Product, service: HookedService, { body, ip }: { body: Buffer; ip: string }) {
    try {
      refuseAtGate(service, ip);
      deps.countSigned(`h${service.id}`, service);
      const start = product.read(record(JSON.parse(body.toString())));
      if (!start) throw new AppError('invalid', { message: 'The body has no number or no code' });
      const { accountId } = service;
      const channels = channelSet(service.channels);
      const actor = { accountId, keyId: null, userId: null, channels, numberRules: numberRulesOf(service) };
      await startVerification(verifying, actor, service, start);
      return null;
    } catch (error) {
      if (error instanceof SyntaxError) return new AppError('malformed_json');
      if (error instanceof AppError && error.status < 500) return error;
      throw error;
    }
  }
}

const serviceIdIn = ({ params }: FastifyRequest): string => (params as { readonly serviceId: string }).serviceId;

async function findHookedServices(db: Db, ids: readonly string[]): Promise<(HookedService | undefined)[]> {
  const services = new Map((await listHookedServices(db, [...new Set(ids)])).map((service) => [service.id, service]));
  return ids.map((id) => services.get(id.toLowerCase()));
}
