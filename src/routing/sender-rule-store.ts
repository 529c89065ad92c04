import { bigint, rowsOf, text } from '../core/db/columns.ts';
import { as, columns, type Db, exec, many, maybeOne, one, type RowOf, sql, timeOf } from '../core/db/query.ts';

/** Policies for senders with letters in a country. */
export const ALPHANUMERIC_POLICIES = ['allowed', 'replaced', 'refused'] as const;
export type AlphanumericPolicy = (typeof ALPHANUMERIC_POLICIES)[number];

const RULE = columns({
  id: as<number>('id'),
  /** Leading digits without the plus; empty for all numbers. */
  prefix: as<string>('prefix'),
  alphanumeric: as<AlphanumericPolicy>('alphanumeric'),
  /** A sender or `pool:NAME`. */
  replacement: as<string | null>('replacement'),
  /** True if numbers too pass only if they are registered. */
  registeredOnly: as<boolean>('registered_only'),
  /** Characters that senders with letters may have, with ranges: `A-Za-z0-9`; null: any. */
  characters: as<string | null>('characters'),
  /** Limits of their length; null: none. */
  minLength: as<number | null>('min_length'),
  maxLength: as<number | null>('max_length'),
  /** Words that they may not contain, in any case. */
  forbiddenWords: as<readonly string[]>('forbidden_words'),
});
export type SenderRule = RowOf<typeof RULE>;

/** The form of a rule that demands none. */
export const ANY_FORM = { characters: null, minLength: null, maxLength: null, forbiddenWords: [] } as const;

export async function listRules(db: Db): Promise<SenderRule[]> {
  return many(db, sql`SELECT ${RULE} FROM sender_rule ORDER BY prefix`);
}

/** Inserts a rule, or changes the one of this prefix. */
export async function insertRule(db: Db, rule: Omit<SenderRule, 'id'>): Promise<SenderRule> {
  return one(
    db,
    sql`INSERT INTO sender_rule (prefix, alphanumeric, replacement, registered_only, characters, min_length, max_length,
                                 forbidden_words)
        VALUES (${rule.prefix}, ${rule.alphanumeric}, ${rule.replacement}, ${rule.registeredOnly}, ${rule.characters},
                ${rule.minLength}, ${rule.maxLength}, ${[...rule.forbiddenWords]}::text[])
        ON CONFLICT (prefix) DO UPDATE SET alphanumeric = excluded.alphanumeric, replacement = excluded.replacement,
          registered_only = excluded.registered_only, characters = excluded.characters,
          min_length = excluded.min_length, max_length = excluded.max_length, forbidden_words = excluded.forbidden_words
        RETURNING ${RULE}`,
  );
}

/** Deletes a rule and returns it; undefined when there is none. */
export async function deleteRule(db: Db, { id }: { id: number }): Promise<SenderRule | undefined> {
  return maybeOne(db, sql`DELETE FROM sender_rule WHERE id = ${id} RETURNING ${RULE}`);
}

const POOL = columns({
  id: as<number>('p.id'),
  name: as<string>('p.name'),
  /** The account that owns the pool; null for a pool of all accounts. */
  ownerId: as<number | null>('p.owner_id'),
  account: as<string | null>('(SELECT name FROM account WHERE id = p.owner_id)'),
  /** True if some of its recipients keep another number than the hash picks. */
  sticky: as<boolean>('p.sticky'),
  numbers: as<string[]>('ARRAY(SELECT number FROM number_pool_number n WHERE n.pool_id = p.id ORDER BY number)'),
});
export type NumberPool = RowOf<typeof POOL>;

export async function listPools(db: Db): Promise<NumberPool[]> {
  return many(db, sql`SELECT ${POOL} FROM number_pool p ORDER BY p.name, p.owner_id NULLS FIRST`);
}

/** Inserts a pool without numbers; undefined when the name is taken. */
export async function insertPool(
  db: Db,
  { name, ownerId }: Pick<NumberPool, 'name' | 'ownerId'>,
): Promise<{ id: number } | undefined> {
  return maybeOne(
    db,
    sql`INSERT INTO number_pool (name, owner_id) VALUES (${name}, ${ownerId})
        ON CONFLICT (name, owner_id) DO NOTHING RETURNING id`,
  );
}

/** Locks a pool: changes of its numbers happen one after the other. Undefined when there is none. */
export async function lockPool(db: Db, { id }: { id: number }): Promise<NumberPool | undefined> {
  return maybeOne(db, sql`SELECT ${POOL} FROM number_pool p WHERE p.id = ${id} FOR UPDATE OF p`);
}

export async function deletePool(db: Db, { id }: { id: number }): Promise<number> {
  return exec(db, sql`DELETE FROM number_pool WHERE id = ${id}`);
}

type PoolNumber = { readonly poolId: number; readonly number: string };

export async function insertPoolNumber(db: Db, { poolId, number }: PoolNumber): Promise<void> {
  await exec(db, sql`INSERT INTO number_pool_number (pool_id, number) VALUES (${poolId}, ${number})`);
}

/** Deletes a number of a pool; returns 0 when it is not in it. */
export async function deletePoolNumber(db: Db, { poolId, number }: PoolNumber): Promise<number> {
  return exec(db, sql`DELETE FROM number_pool_number WHERE pool_id = ${poolId} AND number = ${number}`);
}

/**
 * Stores the kept numbers of recipients who would get `added` from now on and were written to from another number of
 * the pool before. `pickNumber` makes the same choice. It reads the messages that are kept. Returns how many recipients
 * there are.
 */
export async function insertSticky(
  db: Db,
  { pool, added }: { pool: Pick<NumberPool, 'name' | 'ownerId' | 'numbers'>; added: string },
): Promise<number> {
  return exec(
    db,
    sql`INSERT INTO sticky_sender (account_id, pool, destination, sender, used_at)
        SELECT DISTINCT ON (m.account_id, m.destination) m.account_id, ${pool.name}, m.destination, m.sender,
               ${timeOf(sql`m.id`)}
        FROM message m
        WHERE m.sender = ANY(${[...pool.numbers]}::text[]) AND m.asked_sender IS NOT NULL AND m.channel = 'SMS'
          AND CASE WHEN ${pool.ownerId}::bigint IS NULL
                THEN NOT EXISTS (SELECT FROM number_pool o WHERE o.name = ${pool.name} AND o.owner_id = m.account_id)
                ELSE m.account_id = ${pool.ownerId} END
          AND NOT EXISTS (SELECT FROM unnest(${[...pool.numbers]}::text[]) AS n (number)
                          WHERE md5(m.destination || '/' || n.number) > md5(m.destination || '/' || ${added}))
        ORDER BY m.account_id, m.destination, m.id DESC
        ON CONFLICT (account_id, pool, destination) DO NOTHING`,
  );
}

export async function updatePoolSticky(db: Db, { id }: { id: number }): Promise<void> {
  await exec(db, sql`UPDATE number_pool SET sticky = true WHERE id = ${id}`);
}

/**
 * Deletes the kept numbers of a pool's recipients: those that equal a number which left it, or (null) all. For a shared
 * pool, those of all accounts without a pool of that name.
 */
export async function deleteSticky(
  db: Db,
  { name, ownerId, number }: Pick<NumberPool, 'name' | 'ownerId'> & { number: string | null },
): Promise<void> {
  await exec(
    db,
    sql`DELETE FROM sticky_sender s
        WHERE s.pool = ${name} AND (${number}::text IS NULL OR s.sender = ${number})
          AND CASE WHEN ${ownerId}::bigint IS NULL
                THEN NOT EXISTS (SELECT FROM number_pool p WHERE p.name = s.pool AND p.owner_id = s.account_id)
                ELSE s.account_id = ${ownerId} END`,
  );
}

const STICKY = columns({
  accountId: as<number>('s.account_id'),
  pool: as<string>('s.pool'),
  destination: as<string>('s.destination'),
  sender: as<string>('s.sender'),
});
/** The number that a recipient keeps. */
export type StickySender = RowOf<typeof STICKY>;

/**
 * Lists the numbers that these recipients keep, because messages to them are about to be made, and records their use
 * once a day. Rows that another transaction is updating are left to it.
 */
export async function listSticky(db: Db, keys: readonly Omit<StickySender, 'sender'>[]): Promise<StickySender[]> {
  return many(
    db,
    sql`WITH found AS MATERIALIZED (
          SELECT s.account_id, s.pool, s.destination, s.sender, s.used_at
          FROM ${rowsOf(keys, {
            account_id: bigint((k) => k.accountId),
            pool: text((k) => k.pool),
            destination: text((k) => k.destination),
          })} AS u
          JOIN sticky_sender s ON s.account_id = u.account_id AND s.pool = u.pool AND s.destination = u.destination),
        free AS (
          SELECT s.account_id, s.pool, s.destination FROM found f
          JOIN sticky_sender s ON s.account_id = f.account_id AND s.pool = f.pool AND s.destination = f.destination
          WHERE f.used_at < now() - interval '1 day' FOR UPDATE OF s SKIP LOCKED),
        noted AS (
          UPDATE sticky_sender s SET used_at = now() FROM free f
          WHERE s.account_id = f.account_id AND s.pool = f.pool AND s.destination = f.destination)
        SELECT ${STICKY} FROM found s`,
  );
}

/** Lists the pools that are marked as having recipients who keep a number. */
export async function listStickyPools(db: Db): Promise<{ id: number }[]> {
  return many(db, sql`SELECT id FROM number_pool WHERE sticky`);
}

/**
 * Updates a locked pool of which no recipient keeps a number any more, so that look-ups are skipped. Returns 0 if some
 * do, or if that is known.
 */
export async function updatePoolNotSticky(
  db: Db,
  { id, name, ownerId }: Pick<NumberPool, 'id' | 'name' | 'ownerId'>,
): Promise<number> {
  return exec(
    db,
    sql`UPDATE number_pool SET sticky = false
        WHERE id = ${id} AND sticky
          AND NOT EXISTS (SELECT FROM sticky_sender s
                          WHERE s.pool = ${name} AND (${ownerId}::bigint IS NULL OR s.account_id = ${ownerId}))`,
  );
}
