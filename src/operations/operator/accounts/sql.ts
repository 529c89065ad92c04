import type { AccountStatus } from '../../../identity/accounts/sql.ts';
import { containsPattern } from '../../../platform/db/like.ts';
import { type Db, many, one, raw, sql } from '../../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../../platform/db/select.ts';
import type { Plan } from '../../../platform/lib/plan.ts';
import type { Role } from '../../../platform/lib/scope.ts';

const ACCOUNT = columns({
  id: as<number>('p.id'),
  name: as<string>('p.name'),
  status: as<AccountStatus>('p.status'),
  plan: as<Plan>('p.plan'),
  /** The bits of the channels (src/platform/lib/channel.ts). */
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

export const SORTS = ['id', 'name', 'createdAt', 'availableCredit'] as const;
/** Ids are in the order of creation. */
const COLUMN_OF = {
  id: 'a.id',
  name: 'lower(a.name)',
  createdAt: 'a.id',
  availableCredit: 'b.available_micros',
} as const;

export type AccountFilter = {
  readonly search: string | null;
  readonly status: AccountStatus | null;
  readonly plan: Plan | null;
  readonly id?: number | null;
};

const matches = ({ search, status, plan, id = null }: AccountFilter) => sql`
  (${search}::text IS NULL OR lower(a.name) LIKE ${search === null ? '' : containsPattern(search)} OR a.id::text = ${search})
  AND (${status}::text IS NULL OR a.status = ${status}) AND (${plan}::text IS NULL OR a.plan = ${plan})
  AND (${id}::bigint IS NULL OR a.id = ${id})`;

export type AccountPage = AccountFilter & {
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

export async function countAccounts(db: Db, filter: AccountFilter): Promise<number> {
  const row = await one<{ total: number }>(db, sql`SELECT count(*) AS total FROM account a WHERE ${matches(filter)}`);
  return row.total;
}

const PERSON = columns({
  id: as<number>('id'),
  username: as<string>('username'),
  role: as<Role>('role'),
  isOperator: as<boolean>('is_operator'),
  createdAt: as<Date>('created_at'),
});
export type Person = RowOf<typeof PERSON>;

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
