import { randomBytes } from 'node:crypto';
import { type Static, Type } from 'typebox';
import { type AccountGate, GATE } from '../accounts/accounts.ts';
import { type Author, recordAudit } from '../accounts/audit.ts';
import { CHANNELS } from '../core/channels.ts';
import { as, columns, type Db, exec, many, maybeOne, onePlan, type RowOf, sql } from '../core/db/query.ts';
import { AppError, type FieldError } from '../core/errors.ts';
import { newId } from '../core/ids.ts';
import { isPhoneCountry } from '../core/phone.ts';
import { open, type SecretKey, seal } from '../core/secrets.ts';
import { isSender } from '../messages/prepare.ts';
import { ALPHABETS } from './secrets.ts';
import { textFaults } from './texts.ts';

/** The kinds of numbers that a service may refuse; UNASSIGNED: no numbering plan has the number. */
export const LINE_TYPES = ['PREMIUM', 'FIXED_LINE', 'VOIP', 'TOLL_FREE', 'UNASSIGNED'] as const;
export type LineType = (typeof LINE_TYPES)[number];
const GUARD_MODES = ['off', 'monitor', 'standard', 'strict'] as const;

const Country = Type.String({ pattern: '^([A-Z]{2}|\\*)$', description: 'ISO 3166-1 alpha-2, or `*` for all.' });
const Countries = (description: string) => Type.Optional(Type.Array(Country, { maxItems: 250, description }));

export const Guard = Type.Object({
  mode: Type.Optional(
    Type.Enum([...GUARD_MODES], {
      type: 'string',
      description:
        '`monitor`: decides and records, but sends. `strict`: acts on less evidence. Default: `standard`. Cost caps hold in all but `off`.',
    }),
  ),
  countries: Type.Optional(
    Type.Object({
      allow: Countries('If given, the other countries are blocked, unless they are monitored.'),
      monitor: Countries('Countries in which decisions are only recorded.'),
      block: Countries('Countries to which nothing is sent.'),
    }),
  ),
  maxCostPerHour: Type.Optional(Type.Number({ minimum: 0, description: 'Money for messages in 60 minutes.' })),
  maxCostPerDay: Type.Optional(Type.Number({ minimum: 0, description: 'Money for messages in 24 hours.' })),
  lineTypes: Type.Optional(
    Type.Object({
      block: Type.Array(Type.Enum([...LINE_TYPES], { type: 'string' }), {
        uniqueItems: true,
        description: 'Default: PREMIUM, FIXED_LINE, TOLL_FREE and UNASSIGNED.',
      }),
    }),
  ),
  safeList: Type.Optional(
    Type.Array(Type.String({ maxLength: 20 }), {
      maxItems: 1000,
      description: 'Numbers for which the guard never decides, such as those of testers.',
    }),
  ),
  discreet: Type.Optional(
    Type.Boolean({
      description: 'True: what is blocked looks like a send, and is never approved. For public sign-ups.',
    }),
  ),
  challenge: Type.Optional(
    Type.Boolean({ description: 'False: what would be challenged with a captcha is blocked. Default: true.' }),
  ),
});
export type GuardSettings = Static<typeof Guard>;

const Step = Type.Object({
  channel: Type.Enum([...CHANNELS], { type: 'string' }),
  waitFor: Type.Optional(
    Type.Integer({ minimum: 5, maximum: 300, description: 'Seconds until the next channel is tried. Default: 20.' }),
  ),
  sender: Type.Optional(
    Type.String({
      maxLength: 100,
      description: 'By default that of the service on SMS, and the first one of the account on the others.',
    }),
  ),
  template: Type.Optional(
    Type.String({ maxLength: 512, description: 'Name of the authentication template. By default any approved one.' }),
  ),
});
export type Step = Static<typeof Step>;

export const ServiceSettings = Type.Object({
  brand: Type.String({ minLength: 1, maxLength: 20, description: 'In every text.' }),
  codeLength: Type.Integer({ minimum: 4, maximum: 10, default: 6 }),
  alphabet: Type.Enum(Object.keys(ALPHABETS) as (keyof typeof ALPHABETS)[], { type: 'string', default: 'digits' }),
  ttl: Type.Integer({ minimum: 60, maximum: 900, default: 600, description: 'Life of a code in seconds.' }),
  maxChecks: Type.Integer({ minimum: 1, maximum: 10, default: 5, description: 'Wrong codes until it ends.' }),
  maxSends: Type.Integer({ minimum: 1, maximum: 10, default: 5 }),
  workflow: Type.Array(Step, {
    minItems: 1,
    maxItems: 4,
    default: [{ channel: 'SMS' }],
    description: 'Channels in their order. The next one is tried at once after a failure. All carry the same code.',
  }),
  locales: Type.Optional(
    Type.Record(Type.String({ pattern: '^[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,8})*$' }), Type.String({ maxLength: 160 }), {
      maxProperties: 100,
      description: 'Own texts by language, with `{{code}}`, `{{brand}}` and `{{minutes}}`: one SMS each.',
    }),
  ),
  sender: Type.Optional(
    Type.String({ maxLength: 40, description: 'Sender of SMS; `pool:NAME` keeps a number for each person.' }),
  ),
  autofill: Type.Optional(
    Type.Object({
      android: Type.Optional(
        Type.String({ pattern: '^[A-Za-z0-9+/]{11}$', description: "Hash of the app's signature." }),
      ),
      web: Type.Optional(
        Type.String({ pattern: '^[a-z0-9-]+(\\.[a-z0-9-]+)+$', maxLength: 60, description: 'Host of the page.' }),
      ),
    }),
  ),
  codeMode: Type.Enum(['generated', 'provided'], {
    type: 'string',
    default: 'generated',
    description: '`provided`: requests bring the code, such as those of an identity product, which also checks it.',
  }),
  maxPerHour: Type.Optional(Type.Integer({ minimum: 1, description: 'Sends of the service in 60 minutes.' })),
  guard: Type.Optional(Guard),
});
export type ServiceSettings = Static<typeof ServiceSettings>;

/** Returns the errors of settings that the schema alone cannot find. */
export function settingsFaults(settings: ServiceSettings): FieldError[] {
  const { guard = {}, sender, workflow } = settings;
  const named = [sender, ...workflow.filter(({ channel }) => channel === 'SMS').map((step) => step.sender)];
  const countries = Object.entries(guard.countries ?? {}).flatMap(([list, names]) =>
    (names ?? []).flatMap((name) =>
      name === '*' || isPhoneCountry(name)
        ? []
        : [{ field: `guard.countries.${list}`, message: `there is no country ${name}` }],
    ),
  );
  return [
    ...(named.every((name) => name === undefined || isSender(name))
      ? []
      : [{ field: 'sender', message: 'must have 1 to 11 letters and digits, or up to 16 digits, or be pool:NAME' }]),
    ...countries,
    ...textFaults(settings, settings.codeLength),
  ];
}

const SERVICE = columns({
  accountId: as<number>('s.account_id'),
  id: as<string>('s.id'),
  name: as<string>('s.name'),
  settings: as<ServiceSettings>('s.settings'),
  /** Sealed; null until a hook is set up. */
  hookSecret: as<Buffer | null>('s.hook_secret'),
  challengeSecret: as<Buffer>('s.challenge_secret'),
  createdAt: as<Date>('s.created_at'),
  updatedAt: as<Date>('s.updated_at'),
});
/** A product that verifies numbers: its texts, channels, limits and guard. */
export type Service = RowOf<typeof SERVICE>;

type Place = { readonly accountId: number; readonly id: string };
const placeOf = (kind: 'hook' | 'challenge', { accountId, id }: Place): string =>
  `verify_service.${kind}/${accountId}/${id}`;

/** Opens the secret with which the client's server signs proofs of challenges. */
export const openChallengeSecret = (key: SecretKey, service: Service): Buffer =>
  open(key, service.challengeSecret, placeOf('challenge', service));

/** Opens the secret of the service's hooks; null if it has none. */
export const openHookSecret = (key: SecretKey, service: Service): string | null =>
  service.hookSecret && open(key, service.hookSecret, placeOf('hook', service)).toString();

/** Services of an account. */
export const MAX_SERVICES = 50;

type Named = { readonly name: string; readonly settings: ServiceSettings };

/**
 * Adds a service. Returns it with its challenge secret, which is shown only this once. Errors: 409 for a name that the
 * account has, 403 beyond the limit. Call it in a transaction.
 */
export async function addService(
  tx: Db,
  actor: Author,
  { name, settings, secretKey }: Named & { readonly secretKey: SecretKey },
): Promise<{ readonly service: Service; readonly challengeSecret: string }> {
  const { accountId } = actor;
  const id = newId();
  await exec(tx, sql`SELECT FROM account WHERE id = ${accountId} FOR NO KEY UPDATE`);
  if ((await listServices(tx, { accountId })).length >= MAX_SERVICES)
    throw new AppError('forbidden', { message: `An account may have ${MAX_SERVICES} services` });
  const secret = randomBytes(32);
  const sealed = seal(secretKey, secret, placeOf('challenge', { accountId, id }));
  const service = await maybeOne(
    tx,
    sql`INSERT INTO verify_service AS s (account_id, id, name, settings, challenge_secret)
        VALUES (${accountId}, ${id}, ${name}, ${JSON.stringify(settings)}, ${sealed})
        ON CONFLICT (account_id, name) DO NOTHING RETURNING ${SERVICE}`,
  );
  if (!service) throw nameTaken();
  await recordAudit(tx, actor, { action: 'verify.add', subject: `verify:${id}`, detail: { name } });
  return { service, challengeSecret: secret.toString('hex') };
}

const nameTaken = (): AppError => new AppError('conflict', { message: 'The account has a service with this name' });
const noService = (): AppError => new AppError('not_found', { message: 'The account has no such service' });

/** Changes a service. Errors: 404, 409 for a name that the account has. Call it in a transaction. */
export async function changeService(
  tx: Db,
  actor: Author,
  { id, name, settings }: Named & { id: string },
): Promise<Service> {
  const { accountId } = actor;
  const other = (await listServices(tx, { accountId })).find((each) => each.name === name);
  if (other && other.id !== id) throw nameTaken();
  const service = await maybeOne(
    tx,
    sql`UPDATE verify_service s SET name = ${name}, settings = ${JSON.stringify(settings)}, updated_at = now()
        WHERE account_id = ${accountId} AND id = ${id} RETURNING ${SERVICE}`,
  );
  if (!service) throw noService();
  const detail = { name, guard: settings.guard?.mode ?? 'standard' };
  await recordAudit(tx, actor, { action: 'verify.change', subject: `verify:${id}`, detail });
  return service;
}

/** Sets the secret of a service's hooks. Errors: 404. Call it in a transaction. */
export async function setHookSecret(
  tx: Db,
  actor: Author,
  { id, secret, secretKey }: { id: string; secret: string; secretKey: SecretKey },
): Promise<void> {
  const { accountId } = actor;
  const sealed = seal(secretKey, secret, placeOf('hook', { accountId, id }));
  const changed = await exec(
    tx,
    sql`UPDATE verify_service SET hook_secret = ${sealed}, updated_at = now() WHERE account_id = ${accountId} AND id = ${id}`,
  );
  if (changed === 0) throw noService();
  await recordAudit(tx, actor, { action: 'verify.hook-secret', subject: `verify:${id}` });
}

/** Deletes a service; its verifications stay until they are old. Errors: 404. Call it in a transaction. */
export async function removeService(tx: Db, actor: Author, { id }: { id: string }): Promise<void> {
  const { accountId } = actor;
  const gone = await exec(tx, sql`DELETE FROM verify_service WHERE account_id = ${accountId} AND id = ${id}`);
  if (gone === 0) throw noService();
  await recordAudit(tx, actor, { action: 'verify.remove', subject: `verify:${id}` });
}

/** Lists the services of an account by name. */
export const listServices = (db: Db, { accountId }: { accountId: number }): Promise<Service[]> =>
  many(
    db,
    sql`SELECT ${SERVICE} FROM verify_service s WHERE account_id = ${accountId} ORDER BY name LIMIT ${MAX_SERVICES}`,
  );

/** Finds a service. Errors: 404. */
export async function findService(db: Db, { accountId, id }: Place): Promise<Service> {
  const service = await maybeOne(
    db,
    sql`SELECT ${SERVICE} FROM verify_service s WHERE account_id = ${accountId} AND id = ${id}`,
  );
  if (!service) throw noService();
  return service;
}

/** A service that has a secret for hooks, with what its account may do. */
export type HookedService = Service & AccountGate;

/** Lists the services with hooks of active accounts by their ids alone: the secret of each decides who may call it. */
export const listHookedServices = (db: Db, ids: readonly string[]): Promise<HookedService[]> =>
  many(
    db,
    onePlan(sql`SELECT ${SERVICE}, ${GATE} FROM verify_service s JOIN account a ON a.id = s.account_id AND a.status = 'active'
        WHERE s.id = ANY(${ids}::uuid[]) AND s.hook_secret IS NOT NULL`),
  );
