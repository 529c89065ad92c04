import type { AccountStatus } from '../../../identity/accounts/sql.ts';
import { containsPattern } from '../../../platform/db/like.ts';
import { type Db, many, one, raw, sql } from '../../../platform/db/query.ts';
import type { Plan } from '../../../platform/lib/plan.ts';
import type { Role } from '../../../platform/lib/scope.ts';

export type AccountRow = {
  id: number;
  name: string;
  status: AccountStatus;
  plan: Plan;
  /** Bits (src/platform/lib/channel.ts). */
  channels: number;
  currency: string;
  availableMicros: number;
  frozenMicros: number;
  unlimited: boolean;
  ratePerMinute: number | null;
  ratePerSecond: number | null;
  contacts: number;
  users: number;
  createdAt: Date;
  /** By the roll-ups of the last 24 hours and the hour under way. */
  sent: number;
  delivered: number;
  failed: number;
  costMicros: number;
};

export const SORTS = ['id', 'name', 'createdAt', 'availableCredit'] as const;
/** Ids follow the time of making. */
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

/** A page of accounts; what belongs to each is looked up for those of the page alone. */
export async function listAccountPage(db: Db, page: AccountPage): Promise<AccountRow[]> {
  const order = raw(`${COLUMN_OF[page.sort]} ${page.descending ? 'DESC' : 'ASC'}, a.id`);
  return many(
    db,
    sql`SELECT p.id, p.name, p.status, p.plan, p.channels, p.rate_per_minute AS "ratePerMinute",
               p.rate_per_second AS "ratePerSecond", p.created_at AS "createdAt", p.currency,
               p.available_micros AS "availableMicros", p.unlimited,
               (SELECT coalesce(sum(f.micros), 0)::bigint FROM credit_frozen f WHERE f.account_id = p.id) AS "frozenMicros",
               coalesce((SELECT k.contacts FROM contact_book k WHERE k.account_id = p.id), 0) AS contacts,
               (SELECT count(*) FROM app_user u WHERE u.account_id = p.id) AS users, t.*
        FROM (SELECT a.*, coalesce(b.currency, 'EUR') AS currency, coalesce(b.available_micros, 0) AS available_micros,
                     coalesce(b.unlimited, false) AS unlimited, row_number() OVER (ORDER BY ${order}) AS n
              FROM account a LEFT JOIN credit_balance b ON b.account_id = a.id
              WHERE ${matches(page)} ORDER BY n LIMIT ${page.limit} OFFSET ${page.offset}) AS p
        CROSS JOIN LATERAL (
          SELECT coalesce(sum(h.sent), 0)::bigint AS sent, coalesce(sum(h.delivered), 0)::bigint AS delivered,
                 coalesce(sum(h.failed), 0)::bigint AS failed, coalesce(sum(h.cost_micros), 0)::bigint AS "costMicros"
          FROM traffic_hour h
          WHERE h.account_id = p.id AND h.hour >= date_trunc('hour', now()) - interval '24 hours') AS t
        ORDER BY p.n`,
  );
}

export async function countAccounts(db: Db, filter: AccountFilter): Promise<number> {
  const row = await one<{ total: number }>(db, sql`SELECT count(*) AS total FROM account a WHERE ${matches(filter)}`);
  return row.total;
}

export type Person = { id: number; username: string; role: Role; isOperator: boolean; createdAt: Date };

/** The people of an account, the first 1,000 of them. */
export async function listPeople(db: Db, { accountId }: { accountId: number }): Promise<Person[]> {
  return many(
    db,
    sql`SELECT id, username, role, is_operator AS "isOperator", created_at AS "createdAt" FROM app_user
        WHERE account_id = ${accountId} ORDER BY id LIMIT 1000`,
  );
}

/** How many keys an account has, and how many of its events wait or were given up. */
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
