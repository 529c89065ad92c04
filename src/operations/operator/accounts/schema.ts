import { type Static, Type } from 'typebox';
import { LimitsOut } from '../../../engagement/contacts/schema.ts';
import type { Endpoint } from '../../../messaging/webhooks/sql.ts';
import { toChannels } from '../../../platform/lib/channel.ts';
import { fromMicros } from '../../../platform/lib/money.ts';
import { ROLES } from '../../../platform/lib/scope.ts';
import { PLANS } from '../../../platform/lib/plan.ts';
import { amount, isoOrNull, search } from '../fields.ts';
import { type AccountRow, type Person, SORTS } from './sql.ts';
import { channelName, instant, orNull } from '../../../platform/lib/schema.ts';

const Status = Type.Enum(['active', 'suspended'], {
  type: 'string',
  description: 'Suspended: all its requests are 403.',
});
const Plan = Type.Enum([...PLANS], { type: 'string' });
const Name = Type.String({ minLength: 1, maxLength: 200 });
const Channels = Type.Array(channelName(), {
  maxItems: 3,
  description: 'Sends and campaigns of other channels are 403.',
});
const MOST_RATE = 999_999_999;
const perMinute = Type.Integer({ minimum: 0, maximum: MOST_RATE, description: 'Requests of each key; 0: no limit.' });
const count = Type.Integer({ minimum: 0, maximum: 999_999_999_999 });

export const accountFilter = {
  search: search('A part of the name, or the id.'),
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
  credit: amount('Available and frozen together.'),
  availableCredit: amount(),
  frozenCredit: amount('Reserved for messages whose outcome is open.'),
  unlimited: Type.Boolean({ description: 'It pays afterwards: what is available may be below zero.' }),
  ratePerMinute: orNull(Type.Integer({ description: 'Requests of each key; 0: no limit, null: as the plan says.' })),
  ratePerSecond: orNull(Type.Integer({ description: 'Of those, in one second; null: a twentieth of a minute.' })),
  contacts: Type.Integer(),
  users: Type.Integer(),
  createdAt: instant('UTC'),
  last24h: Type.Object(
    { sent: Type.Integer(), delivered: Type.Integer(), failed: Type.Integer(), cost: amount() },
    { description: 'Messages of the last 24 hours and of the hour under way.' },
  ),
};
export const AccountOut = Type.Object(account);

const WebhookOut = Type.Object({
  url: Type.String({ description: 'Without what stands behind the question mark.' }),
  status: Type.Enum(['active', 'disabled'], { type: 'string' }),
  failingSince: orNull(instant('UTC')),
  disabledReason: orNull(Type.String()),
  pending: Type.Integer({ description: 'Events that wait for an attempt.' }),
  dead: Type.Integer({ description: 'Events that were given up, and can be replayed.' }),
});

export const AccountDetails = Type.Object({
  ...account,
  ipAllowList: Type.Array(Type.String()),
  allowListEnforced: Type.Boolean({ description: 'False: every address is let in.' }),
  contactLimits: LimitsOut,
  defaultCountry: orNull(Type.String({ description: 'National numbers are read as of this country.' })),
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
  ledgerAgrees: Type.Boolean({ description: 'Whether its balance is what its ledger says.' }),
});

export const AccountIn = Type.Object({
  name: Name,
  plan: Type.Optional(Plan),
  credit: Type.Optional(Type.Number({ minimum: 0, description: 'To begin with. At most 6 decimals.' })),
  channels: Type.Optional(Channels),
  ratePerMinute: Type.Optional(perMinute),
});

export const AccountCreated = Type.Object({
  accountId: Type.Integer(),
  name: Type.String(),
  apiKey: Type.String({ description: 'Shown this once, with all scopes.' }),
  username: Type.String({ description: 'Of its owner.' }),
  password: Type.String({ description: 'Shown this once.' }),
});

export const AccountPatch = Type.Object({
  name: Type.Optional(Name),
  status: Type.Optional(Status),
  plan: Type.Optional(Plan),
  channels: Type.Optional(Channels),
  ratePerMinute: Type.Optional(orNull(perMinute)),
  ratePerSecond: Type.Optional(orNull(Type.Integer({ minimum: 1, maximum: MOST_RATE }))),
  contactLimits: Type.Optional(
    Type.Object({ planLimit: Type.Optional(orNull(count)), extraLimit: Type.Optional(count) }),
  ),
  defaultCountry: Type.Optional(orNull(Type.String({ maxLength: 2, description: 'Two letters of ISO 3166-1.' }))),
  allowListEnforced: Type.Optional(
    Type.Literal(false, { description: 'Empties the allow-list: for an owner who is locked out.' }),
  ),
});
export type AccountPatch = Static<typeof AccountPatch>;

export const CreditIn = Type.Object({
  amount: Type.Number({ exclusiveMinimum: 0, description: 'Currency units, at most 6 decimals.' }),
  reference: Type.Optional(Type.String({ maxLength: 200, description: 'An invoice number or the like.' })),
});

/** An account in lists. */
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

/** What stands behind the question mark is often a token. */
export const toWebhook = (endpoint: Endpoint, { pending, dead }: Counts): Static<typeof WebhookOut> => ({
  url: endpoint.url.replace(/\?.*/, '?…'),
  status: endpoint.status,
  failingSince: isoOrNull(endpoint.failingSince),
  disabledReason: endpoint.disabledReason,
  pending,
  dead,
});
