import { bigint, insertRows, smallint, text } from '../core/db/columns.ts';
import { as, columns, type Db, exec, many, plainArray, type RowOf, sql } from '../core/db/query.ts';
import { personOf } from '../core/phone.ts';
import type { Prepared } from './prepare.ts';
import type { Verdict } from './read-send.ts';

/** A marketing message to a person, and how many the account allows them in seven days. */
type Capped = {
  readonly accountId: number;
  readonly destination: string;
  readonly cap: number;
};

const TAKEN = columns({
  accountId: as<number>('w.account_id'),
  person: as<string>('w.person'),
  /** Number of the wanted messages that are within the cap. */
  taken: as<number>('w.taken'),
});

/**
 * Counts marketing messages of one transaction for their persons, and returns those that are within the cap of seven
 * days, the first ones of each person. In one statement, which locks the rows of the persons in their order: of two
 * transactions, the second counts what the first has committed. Messages count when they are accepted.
 */
export async function takeWithinCap<T extends Capped>(tx: Db, wanted: readonly T[]): Promise<ReadonlySet<T>> {
  const byPerson = Map.groupBy(wanted, keyOf);
  const rows = [...byPerson.entries()]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([, own]) => own.slice(0, 1).map((first) => ({ ...first, count: own.length })));
  const taken = await insertTaken(
    tx,
    rows.map(({ accountId, destination, cap, count }) => ({
      accountId,
      person: personOf(destination),
      cap,
      taken: Math.min(count, MAX_COUNTED),
    })),
  );
  return new Set(
    taken.flatMap(
      ({ accountId, person, taken: count }) => byPerson.get(`${accountId} ${person}`)?.slice(0, count) ?? [],
    ),
  );
}

const keyOf = ({ accountId, destination }: Capped): string => `${accountId} ${personOf(destination)}`;

/** No request has more messages to a person than the column holds. */
const MAX_COUNTED = 30_000;

type TakenRow = RowOf<typeof TAKEN> & { readonly cap: number };

/** The statement of the cap: `sent_at` keeps the times of the last seven days, `taken` what this transaction got. */
const insertTaken = (tx: Db, rows: readonly TakenRow[]): Promise<RowOf<typeof TAKEN>[]> =>
  many(
    tx,
    sql`${insertRows(
      'marketing_week AS w',
      rows.map((row) => ({ ...row, taken: Math.min(row.taken, row.cap) })),
      { accountId: bigint, person: text, cap: smallint, taken: smallint },
      { sent_at: sql`array_fill(now(), ARRAY[u.taken::int])`, last_at: sql`now()` },
    )}
        ON CONFLICT (account_id, person) DO UPDATE SET (sent_at, cap, taken, last_at) = (
          SELECT n.kept || array_fill(now(), ARRAY[n.taken]), excluded.cap, n.taken,
                 CASE WHEN n.taken > 0 THEN now() ELSE w.last_at END
          FROM (SELECT k.kept, greatest(0, least(excluded.taken, excluded.cap - cardinality(k.kept))) AS taken
                FROM (SELECT ARRAY(SELECT at FROM unnest(w.sent_at) AS at WHERE at > now() - interval '7 days') AS kept) AS k) AS n)
        RETURNING ${TAKEN}`,
  );

type Claimed = { readonly fresh: readonly Prepared[]; readonly verdicts: Verdict[] };

/** Refuses, of messages that are about to be stored, the marketing ones beyond the weekly cap of their persons. */
export async function withinWeeklyCap(tx: Db, items: readonly Prepared[], claimed: Claimed): Promise<Claimed> {
  const wanted = claimed.fresh.flatMap(({ weeklyCap: cap, message: { accountId, id, destination } }) =>
    cap === undefined ? [] : [{ accountId, destination, cap, id }],
  );
  if (wanted.length === 0) return claimed;
  const taken = await takeWithinCap(tx, wanted);
  const over = wanted.filter((one) => !taken.has(one));
  if (over.length === 0) return claimed;
  for (const [accountId, own] of Map.groupBy(over, (one) => one.accountId))
    await forgetClientIds(
      tx,
      accountId,
      own.map(({ id }) => id),
    );
  const refused = new Set(over.map(({ id }) => id));
  return {
    fresh: claimed.fresh.filter(({ message }) => !refused.has(message.id)),
    verdicts: claimed.verdicts.map((verdict, i) =>
      refused.has(items[i]?.message.id ?? '') ? { kind: 'refused', refusal: 'weekly_cap' } : verdict,
    ),
  };
}

/** Deletes the client ids of messages that the cap has refused, in the transaction that has taken them. */
const forgetClientIds = (tx: Db, accountId: number, messageIds: readonly string[]): Promise<number> =>
  exec(
    tx,
    sql`DELETE FROM client_message_id
        WHERE account_id = ${accountId} AND message_id = ANY(${plainArray(messageIds)}::uuid[])`,
  );

/** Deletes persons who got no marketing for a week. Returns how many there were. */
export const deleteOldWeeks = (db: Db): Promise<number> =>
  exec(db, sql`DELETE FROM marketing_week WHERE last_at < now() - interval '7 days'`);
