import type { Pool } from 'pg';
import { every, type Task } from '../core/background.ts';
import { bigint, boolean, int, rowsOf, text } from '../core/db/columns.ts';
import { as, columns, type Db, exec, many, maybeOne, one, type RowOf, sql, textArray } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { HOUR_MS } from '../core/time.ts';
import type { FactData } from '../webhooks/fact-types.ts';
import { publishFacts } from '../webhooks/outbox.ts';

/**
 * The number of people to whom a business portfolio at Meta may write first within 24 hours. Replies to people who
 * wrote in the last 24 hours do not count, and a person counts once, however many messages they get
 * (developers.facebook.com/documentation/business-messaging/whatsapp/messaging-limits).
 */
export type MessagingLimit = {
  readonly connectionId: number;
  /** The id of the portfolio, which may have several business accounts and so several connections. */
  readonly portfolio: string;
  /** Null: any number. */
  readonly people: number | null;
};

/** The share of a limit for campaigns and bulk requests; the rest is reserved for single messages, such as codes. */
export const BULK_SHARE = 0.9;

/** Returns the people of a limit whom campaigns and bulk requests may reach. */
const bulkLimit = (people: number): number => Math.floor(people * BULK_SHARE);

/** Stores the limit of the portfolio of a connection, for all its connections. Call it in a transaction. */
export async function updateMessagingLimit(tx: Db, { connectionId, portfolio, people }: MessagingLimit): Promise<void> {
  await exec(
    tx,
    sql`INSERT INTO messaging_limit (connection_id, portfolio, people) VALUES (${connectionId}, ${portfolio}, ${people})
        ON CONFLICT (connection_id) DO UPDATE SET portfolio = excluded.portfolio`,
  );
  await changeMessagingLimit(tx, { connectionId, people });
}

/**
 * Changes the limit of a connection whose portfolio is known, for all connections of the portfolio, and publishes it to
 * the accounts that have their numbers. Call it in a transaction.
 */
export async function changeMessagingLimit(
  tx: Db,
  { connectionId, people }: Pick<MessagingLimit, 'connectionId' | 'people'>,
): Promise<void> {
  const changed = await many<FactData<'sender.limit'> & { readonly accountId: number }>(
    tx,
    sql`WITH changed AS (
          UPDATE messaging_limit l SET people = ${people} FROM messaging_limit b
          WHERE l.portfolio = (SELECT portfolio FROM messaging_limit WHERE connection_id = ${connectionId})
            AND b.connection_id = l.connection_id AND l.people IS DISTINCT FROM ${people}
          RETURNING l.connection_id, b.people AS old)
        SELECT s.owner_id AS "accountId", s.identity AS "phoneNumberId", ${people}::int AS people, c.old AS "oldPeople"
        FROM changed c JOIN sender s ON s.connection_id = c.connection_id
        WHERE s.channel = 'WHATSAPP' AND s.owner_id IS NOT NULL ORDER BY s.identity`,
  );
  await publishFacts(
    tx,
    changed.map(({ accountId, ...data }) => ({ accountId, type: 'sender.limit', about: data.phoneNumberId, data })),
  );
}

const LIMIT = columns({ portfolio: as<string>('portfolio'), people: as<number>('people') });

/** Finds the limit of a connection; undefined if it is not known, or there is none. */
export const findLimit = (
  db: Db,
  { connectionId }: { readonly connectionId: number },
): Promise<RowOf<typeof LIMIT> | undefined> =>
  maybeOne(db, sql`SELECT ${LIMIT} FROM messaging_limit WHERE connection_id = ${connectionId} AND people IS NOT NULL`);

/** A message with which we write first, if the person has not written. */
export type Approach = {
  readonly accountId: number;
  readonly sender: string;
  /** The person, as `personOf` names them. */
  readonly person: string;
  /** True for a single message, which may also use what is reserved. */
  readonly isUrgent: boolean;
};

/** The decision on a message: the person counts with it for the first time in 24 hours, or must wait. */
export type Decision = { readonly n: number; readonly verdict: 'counted' | 'wait' };

/** Distinct from the other advisory locks. */
const LOCK = 724_913;

/**
 * Counts the people of these messages, by the limit of a portfolio, for all workers together. Returns the decisions on
 * the messages with which a person counts again, and on those that are beyond the limit; the others count nothing.
 */
export function takePeople(
  pool: Pool,
  { portfolio, people }: RowOf<typeof LIMIT>,
  approaches: readonly Approach[],
): Promise<Decision[]> {
  return transaction(pool, async (tx) => {
    await exec(tx, sql`SELECT pg_advisory_xact_lock(${LOCK}, hashtext(${portfolio}))`);
    return many<Decision>(
      tx,
      sql`WITH asked AS (
            SELECT u.n, coalesce(a.person, u.person) AS person, u.urgent
            FROM ${rowsOf(approaches, {
              n: int((_, i) => i),
              account_id: bigint((a) => a.accountId),
              sender: text((a) => a.sender),
              person: text((a) => a.person),
              urgent: boolean((a) => a.isUrgent),
            })} AS u
            LEFT JOIN person_alias a ON a.account_id = u.account_id AND a.alias = u.person
            WHERE NOT EXISTS (
              SELECT FROM conversation c
              WHERE c.account_id = u.account_id AND c.person = coalesce(a.person, u.person) AND c.channel = 'WHATSAPP'
                AND c.identity = u.sender AND c.window_expires_at > now())),
          fresh AS (
            SELECT person, bool_or(urgent) AS urgent, min(n) AS n FROM asked x
            WHERE NOT EXISTS (
              SELECT FROM portfolio_person p
              WHERE p.portfolio = ${portfolio} AND p.person = x.person AND p.at > now() - interval '24 hours')
            GROUP BY person),
          placed AS (
            SELECT person, n, urgent, row_number() OVER (ORDER BY urgent DESC, n) AS place FROM fresh),
          used AS (
            SELECT count(*) AS people FROM portfolio_person
            WHERE portfolio = ${portfolio} AND at > now() - interval '24 hours'),
          granted AS (
            SELECT f.person, f.n FROM placed f, used
            WHERE used.people + f.place <= CASE WHEN f.urgent THEN ${people}::bigint ELSE ${bulkLimit(people)}::bigint END),
          stored AS (
            INSERT INTO portfolio_person AS p (portfolio, person) SELECT ${portfolio}, person FROM granted ORDER BY person
            ON CONFLICT (portfolio, person) DO UPDATE SET at = now())
          SELECT n, 'counted' AS verdict FROM granted
          UNION ALL
          SELECT x.n, 'wait' FROM asked x JOIN fresh f ON f.person = x.person
          WHERE NOT EXISTS (SELECT FROM granted g WHERE g.person = x.person)`,
    );
  });
}

/** Forgets people whose messages were rejected. */
export async function returnPeople(
  db: Db,
  { portfolio, persons }: { readonly portfolio: string; readonly persons: readonly string[] },
): Promise<void> {
  await exec(
    db,
    sql`DELETE FROM portfolio_person WHERE portfolio = ${portfolio} AND person = ANY (${textArray(persons)}::text[])`,
  );
}

const USE = columns({
  phoneNumberId: as<string>('n.id'),
  /** Null: any number. */
  people: as<number | null>('l.people'),
  used: as<number>('l.used'),
});

/**
 * Lists the limits of WhatsApp numbers that the account of the caller may use, with the people whom their portfolios have
 * reached in the last 24 hours. Numbers whose limit is not known are omitted.
 */
export const listLimitUses = (db: Db, phoneNumberIds: readonly string[]): Promise<RowOf<typeof USE>[]> =>
  many(
    db,
    sql`SELECT ${USE} FROM unnest(${textArray(phoneNumberIds)}::text[]) AS n (id)
        CROSS JOIN LATERAL messaging_limit_use(n.id) AS l`,
  );

const LIMITED = columns({
  connection: as<string>('c.name'),
  people: as<number>('l.people'),
  used: as<number>('u.used'),
});

/** Lists the connections with a limit, and how many people each portfolio has reached in the last 24 hours. */
export const listLimits = (db: Db): Promise<RowOf<typeof LIMITED>[]> =>
  many(
    db,
    sql`SELECT ${LIMITED} FROM messaging_limit l JOIN connection c ON c.id = l.connection_id
        CROSS JOIN LATERAL (SELECT count(*) AS used FROM portfolio_person p
                            WHERE p.portfolio = l.portfolio AND p.at > now() - interval '24 hours') AS u
        WHERE l.people IS NOT NULL ORDER BY c.name`,
  );

const DELETED_AT_ONCE = 10_000;

/** Forgets people who were reached more than 24 hours ago. */
async function deleteReached(db: Db): Promise<number> {
  const { deleted } = await one<{ deleted: number }>(
    db,
    sql`WITH old AS (
          DELETE FROM portfolio_person WHERE (portfolio, person) IN (
            SELECT portfolio, person FROM portfolio_person WHERE at < now() - interval '24 hours' LIMIT ${DELETED_AT_ONCE})
          AND at < now() - interval '24 hours' RETURNING 1)
        SELECT count(*) AS deleted FROM old`,
  );
  return deleted;
}

export const messagingLimitTasks = ({ pool }: { readonly pool: Pool }): Task[] => [
  {
    name: 'people reached',
    work: every(HOUR_MS, async () => {
      while ((await deleteReached(pool)) === DELETED_AT_ONCE);
    }),
  },
];
