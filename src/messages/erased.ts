import { createHmac } from 'node:crypto';
import { bigint, bytea, insertRows, rowsOf, text, timestamptz } from '../core/db/columns.ts';
import { type Db, exec, many, sql } from '../core/db/query.ts';
import { personOf } from '../core/phone.ts';
import type { SecretKey } from '../core/secrets.ts';

type Person = { readonly accountId: number; readonly phoneNumber: string };

/** Returns what is kept of an erased person: a hash that nobody can make without the secret key of the installation. */
export type HashOfPerson = (person: Person) => Buffer;

export const createPersonHash =
  (key: SecretKey): HashOfPerson =>
  ({ accountId, phoneNumber }) =>
    createHmac('sha256', key.bytes)
      .update(`erased person ${accountId} ${personOf(phoneNumber)}`)
      .digest();

/** Records that persons are erased: from the commit on, they are not written to. */
export const insertErased = (
  tx: Db,
  rows: readonly { readonly accountId: number; readonly hash: Buffer }[],
): Promise<number> =>
  exec(tx, sql`${insertRows('erased_person', rows, { accountId: bigint, hash: bytea })} ON CONFLICT DO NOTHING`);

/** A person who wants messages again, with the time of the choice; null: now. */
type Return = Person & { readonly at: Date | null };

/**
 * Forgets that persons were erased, because they themselves want messages again since then: under the given address and
 * all others that are known.
 */
export async function deleteErased(tx: Db, hashOf: HashOfPerson, returns: readonly Return[]): Promise<void> {
  if (returns.length === 0) return;
  const columns = { account_id: bigint((r: Return) => r.accountId), at: timestamptz((r: Return) => r.at) };
  const all = await many<{ accountId: number; phoneNumber: string; at: Date | null }>(
    tx,
    sql`SELECT u.account_id AS "accountId", u.at, o AS "phoneNumber"
        FROM ${rowsOf(returns, { ...columns, person: text((r) => personOf(r.phoneNumber)) })} AS u
        CROSS JOIN LATERAL (SELECT u.person UNION ALL SELECT * FROM other_addresses(u.account_id, u.person)) AS a (o)
        WHERE EXISTS (SELECT FROM erased_person e WHERE e.account_id = u.account_id)`,
  );
  if (all.length === 0) return;
  await exec(
    tx,
    sql`DELETE FROM erased_person e USING ${rowsOf(all, { ...columns, hash: bytea((r: Return) => hashOf(r)) })} AS u
        WHERE e.account_id = u.account_id AND e.hash = u.hash AND e.erased_at < coalesce(u.at, now())`,
  );
}

export async function findErased(
  db: Db,
  hashOf: HashOfPerson | undefined,
  { accountId, numbers }: { readonly accountId: number; readonly numbers: readonly string[] },
): Promise<ReadonlySet<string>> {
  if (hashOf === undefined || numbers.length === 0) return new Set();
  const known = await many<{ known: boolean }>(
    db,
    sql`SELECT EXISTS (SELECT FROM erased_person WHERE account_id = ${accountId}) AS known`,
  );
  if (!known[0]?.known) return new Set();
  const byHash = new Map(
    numbers.map((phoneNumber) => [hashOf({ accountId, phoneNumber }).toString('hex'), phoneNumber]),
  );
  const found = await many<{ hash: string }>(
    db,
    sql`SELECT encode(hash, 'hex') AS hash FROM erased_person
        WHERE account_id = ${accountId}
          AND hash = ANY(ARRAY(SELECT decode(h, 'hex') FROM unnest(${[...byHash.keys()]}::text[]) AS h))`,
  );
  return new Set(found.flatMap(({ hash }) => byHash.get(hash) ?? []));
}
