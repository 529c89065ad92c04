import { type Static, Type } from 'typebox';
import { LimitsOut } from '../../../engagement/contacts/schema.ts';
import { numberChecks } from '../../../identity/accounts/numbers/schema.ts';
import type { Endpoint } from '../../../messaging/webhooks/sql.ts';
import { toChannels } from '../../../platform/lib/channel.ts';
import { fromMicros } from '../../../platform/lib/money.ts';
import { PLANS } from '../../../platform/lib/plan.ts';
import { channelName, instant, orNull } from '../../../platform/lib/schema.ts';
import { ROLES } from '../../../platform/lib/scope.ts';
import { amount, isoOrNull, searchField } from '../fields.ts';
import { type AccountRow, type Person, SORTS } from './sql.ts';

const Status = Type.Enum(['active', 'suspended'], {
  type: 'string',
  description: 'All requests of a suspended account are denied with 403.',
});
const Plan = Type.Enum([...PLANS], { type: 'string' });
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
  plan: Type.Optional(Plan),
  sort: Type.Enum([...SORTS], { type: 'string', default: 'id' }),
  direction: Type.Enum(['asc', 'desc'], { type: 'string', default: 'asc' }),
};

const account = {
  id: Type.Integer(),
  name: Type.String(),
  status: Status,
  plan: Plan,
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
  status: Type.Enum(['active', 'disabled'], { type: 'string' }),
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
  plan: Type.Optional(Plan),
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
  plan: Type.Optional(Plan),
  channels: Type.Optional(Channels),
  ratePerMinute: Type.Optional(orNull(perMinute)),
  ratePerSecond: Type.Optional(orNull(Type.Integer({ minimum: 1, maximum: MAX_RATE }))),
  contactLimits: Type.Optional(
    Type.Object({ planLimit: Type.Optional(orNull(count)), extraLimit: Type.Optional(count) }),
  ),
  defaultCountry: Type.Optional(orNull(Type.String({ maxLength: 2, description: 'A two-letter code of ISO 3166-1.' }))),
  numberChecks: Type.Optional(numberChecks),
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
