import { type Static, Type } from 'typebox';
import type { AccountStatus } from '../accounts/accounts.ts';
import { numberChecks } from '../accounts/numbers.ts';
import { amount, isoOrNull, searchField } from '../accounts/operator-fields.ts';
import { LimitsOut } from '../contacts/schema.ts';
import { PLANS, type Plan, ROLES, type Role } from '../core/actor.ts';
import { toChannels } from '../core/channels.ts';
import { as, columns, containsPattern, countRows, type Db, many, one, type RowOf, raw, sql } from '../core/db/query.ts';
import { fromMicros } from '../core/money.ts';
import { channelName, instant, orNull } from '../core/schema.ts';
import type { Endpoint } from '../webhooks/endpoints.ts';

const ACCOUNT = columns({
  id: as<number>('p.id'),
  name: as<string>('p.name'),
  status: as<AccountStatus>('p.status'),
  plan: as<Plan>('p.plan'),
  /** The bits of the channels (src/core/channels.ts). */
  channels: as<number>('p.channels'),
  ratePerMinute: as<number | null>('p.rate_per_minute'),
  ratePerSecond: as<number | null>('p.rate_per_second'),
  createdAt: as<Date>('p.created_at'),
  currency: as<string>('p.currency'),
  availableMicros: as<number>('p.available_micros'),
  unlimited: as<boolean>('p.unlimited'),
  frozenMicros: as<number>(
    '(SELECT coalesce(sum(f.micros), 0)::bigint FROM credit_frozen f WHERE f.account_id = p.id)',
  ),
  contacts: as<number>('coalesce((SELECT k.contacts FROM contact_book k WHERE k.account_id = p.id), 0)'),
  users: as<number>('(SELECT count(*) FROM app_user u WHERE u.account_id = p.id)'),
  /** This and the following three are from the roll-ups of the last 24 hours and of the current hour. */
  sent: as<number>('t.sent'),
  delivered: as<number>('t.delivered'),
  failed: as<number>('t.failed'),
  costMicros: as<number>('t.cost_micros'),
});
export type AccountRow = RowOf<typeof ACCOUNT>;

const SORTS = ['id', 'name', 'createdAt', 'availableCredit'] as const;
/** Ids are in the order of creation. */
const COLUMN_OF = {
  id: 'a.id',
  name: 'lower(a.name)',
  createdAt: 'a.id',
  availableCredit: 'b.available_micros',
} as const;

type AccountFilter = {
  readonly search: string | null;
  readonly status: AccountStatus | null;
  readonly plan: Plan | null;
  readonly id?: number | null;
};

const matches = ({ search, status, plan, id = null }: AccountFilter) => sql`
  (${search}::text IS NULL OR fold_text(a.name) LIKE ${search === null ? '' : containsPattern(search)} OR a.id::text = ${search})
  AND (${status}::text IS NULL OR a.status = ${status}) AND (${plan}::text IS NULL OR a.plan = ${plan})
  AND (${id}::bigint IS NULL OR a.id = ${id})`;

type AccountPage = AccountFilter & {
  readonly sort: (typeof SORTS)[number];
  readonly descending: boolean;
  readonly limit: number;
  readonly offset: number;
};

/** Lists a page of accounts. Credit, contacts, users and traffic are looked up only for the accounts of the page. */
export async function listAccountPage(db: Db, page: AccountPage): Promise<AccountRow[]> {
  const order = raw(`${COLUMN_OF[page.sort]} ${page.descending ? 'DESC' : 'ASC'}, a.id`);
  return many(
    db,
    sql`SELECT ${ACCOUNT}
        FROM (SELECT a.*, coalesce(b.currency, 'EUR') AS currency, coalesce(b.available_micros, 0) AS available_micros,
                     coalesce(b.unlimited, false) AS unlimited, row_number() OVER (ORDER BY ${order}) AS n
              FROM account a LEFT JOIN credit_balance b ON b.account_id = a.id
              WHERE ${matches(page)} ORDER BY n LIMIT ${page.limit} OFFSET ${page.offset}) AS p
        CROSS JOIN LATERAL (
          SELECT coalesce(sum(h.sent), 0)::bigint AS sent, coalesce(sum(h.delivered), 0)::bigint AS delivered,
                 coalesce(sum(h.failed), 0)::bigint AS failed, coalesce(sum(h.cost_micros), 0)::bigint AS cost_micros
          FROM traffic_hour h
          WHERE h.account_id = p.id AND h.hour >= date_trunc('hour', now()) - interval '24 hours') AS t
        ORDER BY p.n`,
  );
}

export const countAccounts = (db: Db, filter: AccountFilter): Promise<number> =>
  countRows(db, sql`FROM account a WHERE ${matches(filter)}`);

const PERSON = columns({
  id: as<number>('id'),
  username: as<string>('username'),
  role: as<Role>('role'),
  isOperator: as<boolean>('is_operator'),
  createdAt: as<Date>('created_at'),
});
type Person = RowOf<typeof PERSON>;

/** Lists the first 1,000 people of an account. */
export async function listPeople(db: Db, { accountId }: { accountId: number }): Promise<Person[]> {
  return many(db, sql`SELECT ${PERSON} FROM app_user WHERE account_id = ${accountId} ORDER BY id LIMIT 1000`);
}

/** Counts the API keys of an account, and its webhook events that wait (`pending`) or were given up (`dead`). */
export async function countKeysAndEvents(
  db: Db,
  { accountId }: { accountId: number },
): Promise<{ apiKeys: number; pending: number; dead: number }> {
  return one(
    db,
    sql`SELECT (SELECT count(*) FROM api_key WHERE account_id = ${accountId}) AS "apiKeys",
               ((SELECT coalesce(sum(cardinality(message_ids)), 0) FROM webhook_outbox WHERE account_id = ${accountId})
                + (SELECT count(*) FROM webhook_retry WHERE account_id = ${accountId}))::bigint AS pending,
               (SELECT count(*) FROM webhook_delivery
                WHERE account_id = ${accountId} AND state = 'DEAD' AND state <> 'DELIVERED') AS dead`,
  );
}

const Status = Type.Enum(['active', 'suspended'], {
  type: 'string',
  description: 'All requests of a suspended account are denied with 403.',
});
const PlanSchema = Type.Enum([...PLANS], { type: 'string' });
const Name = Type.String({ minLength: 1, maxLength: 200 });
const Channels = Type.Array(channelName(), {
  maxItems: 3,
  description: 'Sends and campaigns on other channels are denied with 403.',
});
const MAX_RATE = 999_999_999;
const perMinute = Type.Integer({
  minimum: 0,
  maximum: MAX_RATE,
  description: 'Requests per minute for each key, and twice as many for all keys together; 0: no limit.',
});
const count = Type.Integer({ minimum: 0, maximum: 999_999_999_999 });

export const accountFilter = {
  search: searchField('A part of the name, or the id.'),
  status: Type.Optional(Status),
  plan: Type.Optional(PlanSchema),
  sort: Type.Enum([...SORTS], { type: 'string', default: 'id' }),
  direction: Type.Enum(['asc', 'desc'], { type: 'string', default: 'asc' }),
};

const account = {
  id: Type.Integer(),
  name: Type.String(),
  status: Status,
  plan: PlanSchema,
  channels: Type.Array(channelName()),
  currency: Type.String(),
  credit: amount('The sum of available and frozen credit.'),
  availableCredit: amount(),
  frozenCredit: amount('Reserved for messages whose outcome is open.'),
  unlimited: Type.Boolean({ description: 'True if the account pays after use: its available credit may be negative.' }),
  ratePerMinute: orNull(
    Type.Integer({ description: 'Requests per minute for each key; 0: no limit, null: the limit of the plan.' }),
  ),
  ratePerSecond: orNull(
    Type.Integer({ description: 'Requests per second for each key; null: a twentieth of the limit per minute.' }),
  ),
  contacts: Type.Integer(),
  users: Type.Integer(),
  createdAt: instant('UTC'),
  last24h: Type.Object(
    { sent: Type.Integer(), delivered: Type.Integer(), failed: Type.Integer(), cost: amount() },
    { description: 'Messages of the last 24 hours and of the current hour.' },
  ),
};
export const AccountOut = Type.Object(account);

const WebhookOut = Type.Object({
  url: Type.String({ description: 'URL without the query, which often contains a token.' }),
  status: Type.Enum(['active', 'paused', 'disabled'], { type: 'string' }),
  failingSince: orNull(instant('UTC')),
  disabledReason: orNull(Type.String()),
  pending: Type.Integer({ description: 'Events that wait for an attempt.' }),
  dead: Type.Integer({ description: 'Events that were given up and can be sent again.' }),
});

export const AccountDetails = Type.Object({
  ...account,
  ipAllowList: Type.Array(Type.String()),
  allowListEnforced: Type.Boolean({ description: 'False: every address is allowed.' }),
  contactLimits: LimitsOut,
  defaultCountry: orNull(Type.String({ description: 'The country of numbers without a country code.' })),
  numberChecks,
  tlvTags: Type.Array(Type.String({ description: 'Tag of a parameter that its sends over HTTP may have.' })),
  apiKeys: Type.Integer(),
  people: Type.Array(
    Type.Object({
      id: Type.Integer(),
      username: Type.String(),
      role: Type.Enum([...ROLES], { type: 'string' }),
      isOperator: Type.Boolean(),
      createdAt: instant('UTC'),
    }),
  ),
  webhook: orNull(WebhookOut),
  ledgerAgrees: Type.Boolean({ description: 'True if the balance matches the ledger.' }),
});

export const AccountIn = Type.Object({
  name: Name,
  plan: Type.Optional(PlanSchema),
  credit: Type.Optional(Type.Number({ minimum: 0, description: 'The initial credit, with at most 6 decimals.' })),
  channels: Type.Optional(Channels),
  ratePerMinute: Type.Optional(perMinute),
});

export const AccountCreated = Type.Object({
  accountId: Type.Integer(),
  name: Type.String(),
  apiKey: Type.String({ description: 'A key with all scopes, shown only once.' }),
  username: Type.String({ description: 'The username of the admin.' }),
  password: Type.String({ description: 'The password of the admin, shown only once.' }),
});

export const AccountPatch = Type.Object({
  name: Type.Optional(Name),
  status: Type.Optional(Status),
  plan: Type.Optional(PlanSchema),
  channels: Type.Optional(Channels),
  ratePerMinute: Type.Optional(orNull(perMinute)),
  ratePerSecond: Type.Optional(orNull(Type.Integer({ minimum: 1, maximum: MAX_RATE }))),
  contactLimits: Type.Optional(
    Type.Object({ planLimit: Type.Optional(orNull(count)), extraLimit: Type.Optional(count) }),
  ),
  defaultCountry: Type.Optional(orNull(Type.String({ maxLength: 2, description: 'A two-letter code of ISO 3166-1.' }))),
  numberChecks: Type.Optional(numberChecks),
  tlvTags: Type.Optional(
    Type.Array(Type.String({ maxLength: 6 }), {
      maxItems: 50,
      description: 'Tags of the SMPP parameters that its sends over HTTP may have, such as 0x1400. All are replaced.',
    }),
  ),
  allowListEnforced: Type.Optional(
    Type.Literal(false, { description: 'Clears the allow-list, for an admin who is locked out.' }),
  ),
});
export type AccountPatch = Static<typeof AccountPatch>;

export const CreditIn = Type.Object({
  amount: Type.Number({ exclusiveMinimum: 0, description: 'Currency units, at most 6 decimals.' }),
  reference: Type.Optional(Type.String({ maxLength: 200, description: 'An invoice number or similar.' })),
});

export const toAccountOut = (row: AccountRow): Static<typeof AccountOut> => ({
  id: row.id,
  name: row.name,
  status: row.status,
  plan: row.plan,
  channels: toChannels(row.channels),
  currency: row.currency,
  credit: fromMicros(row.availableMicros + row.frozenMicros),
  availableCredit: fromMicros(row.availableMicros),
  frozenCredit: fromMicros(row.frozenMicros),
  unlimited: row.unlimited,
  ratePerMinute: row.ratePerMinute,
  ratePerSecond: row.ratePerSecond,
  contacts: row.contacts,
  users: row.users,
  createdAt: row.createdAt.toISOString(),
  last24h: { sent: row.sent, delivered: row.delivered, failed: row.failed, cost: fromMicros(row.costMicros) },
});

export const toPerson = ({ createdAt, ...person }: Person) => ({ ...person, createdAt: createdAt.toISOString() });

type Counts = { readonly pending: number; readonly dead: number };

/** Omits the query of the URL, which often contains a token. */
export const toWebhook = (endpoint: Endpoint, { pending, dead }: Counts): Static<typeof WebhookOut> => ({
  url: endpoint.url.replace(/\?.*/, '?…'),
  status: endpoint.status,
  failingSince: isoOrNull(endpoint.failingSince),
  disabledReason: endpoint.disabledReason,
  pending,
  dead,
});
