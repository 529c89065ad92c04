import type { Channel } from '../core/channels.ts';
import { bigint, rowsOf, text } from '../core/db/columns.ts';
import { type Db, exec, many, type Sql, sql } from '../core/db/query.ts';
import { isUserId, personOf } from '../core/phone.ts';

/**
 * A second address by which WhatsApp names a person: the business-scoped user id, or a form of the number that
 * `personOf` does not know, with the address under which the person is stored.
 */
export type AddressPair = {
  readonly accountId: number;
  /** A user id, or a number in E.164. */
  readonly alias: string;
  /** A number in E.164; a user id only if no number is known. */
  readonly address: string;
};

type Address = { readonly accountId: number; readonly phoneNumber: string };
type Person = { readonly accountId: number; readonly alias: string; readonly person: string };

/** A key of a person under one of their addresses. */
export const keyOfPerson = ({ accountId, phoneNumber }: Address): string => `${accountId}/${personOf(phoneNumber)}`;

/** Finds the persons behind addresses that are aliases, by `keyOfPerson`; other addresses are omitted. */
export async function findPersons(db: Db, addresses: readonly Address[]): Promise<ReadonlyMap<string, string>> {
  const rows = await many<Person>(
    db,
    sql`SELECT a.account_id AS "accountId", a.alias, a.person FROM ${addressRows(addresses)} AS u
        JOIN person_alias a ON a.account_id = u.account_id AND a.alias = u.person`,
  );
  return new Map(rows.map(({ accountId, alias, person }) => [`${accountId}/${alias}`, person]));
}

const addressRows = (addresses: readonly Address[]): Sql =>
  sql`(SELECT DISTINCT * FROM ${rowsOf(addresses, {
    account_id: bigint((a) => a.accountId),
    person: text((a) => personOf(a.phoneNumber)),
  })} AS r)`;

/**
 * Stores that pairs of addresses belong to one person each, in the caller's transaction and with one statement. What a
 * person has said under one of them about messages holds for the other as well; a user id exists on WhatsApp only. Known
 * pairs change nothing.
 */
export async function learnAddresses(tx: Db, pairs: readonly AddressPair[]): Promise<void> {
  const distinct = new Map(
    pairs
      .filter(({ alias, address }) => personOf(alias) !== personOf(address))
      .map((pair) => [`${pair.accountId}/${personOf(pair.alias)}`, pair]),
  );
  if (distinct.size === 0) return;
  await exec(
    tx,
    sql`WITH learnt AS (
          INSERT INTO person_alias AS a (account_id, alias, person)
          SELECT u.account_id, u.alias, coalesce(p.person, u.person) FROM ${rowsOf([...distinct.values()], {
            account_id: bigint((p) => p.accountId),
            alias: text((p) => personOf(p.alias)),
            person: text((p) => personOf(p.address)),
          })} AS u
          LEFT JOIN person_alias p ON p.account_id = u.account_id AND p.alias = u.person
          WHERE coalesce(p.person, u.person) <> u.alias
          ORDER BY u.account_id, u.alias
          ON CONFLICT (account_id, alias) DO UPDATE SET person = excluded.person WHERE a.person <> excluded.person
          RETURNING a.account_id, a.alias, a.person),
        moved AS (
          UPDATE person_alias a SET person = l.person FROM learnt l
          WHERE a.account_id = l.account_id AND a.person = l.alias AND a.alias <> l.person),
        pairs AS (
          SELECT account_id, alias AS one, person AS other FROM learnt UNION SELECT account_id, person, alias FROM learnt),
        ${copyingSql(sql`pairs`)}`,
  );
}

/**
 * The end of a statement after `WITH`: copies what persons have said under one address to another one of theirs, by
 * `pairs` with `account_id`, `one` (a person) and `other`; a user id exists on WhatsApp only. What is known under the
 * other address stays, but an opt-out beats all else.
 */
const copyingSql = (pairs: Sql): Sql => sql`copied AS (
    INSERT INTO consent AS n (account_id, phone_number, channel, purpose, sender, state, source, since, proof)
    SELECT DISTINCT ON (c.account_id, person_of(u.other), c.channel, c.purpose, c.sender)
      c.account_id, u.other, c.channel, c.purpose, c.sender, c.state, c.source, c.since, c.proof
    FROM ${pairs} AS u JOIN consent c ON c.account_id = u.account_id AND c.person = u.one
    WHERE u.other LIKE '+%' OR c.channel = 'WHATSAPP'
    ORDER BY c.account_id, person_of(u.other), c.channel, c.purpose, c.sender, c.state = 'OPTED_OUT' DESC, c.since
    ON CONFLICT (account_id, person, channel, purpose, sender) DO UPDATE
      SET state = excluded.state, source = excluded.source, since = excluded.since, proof = excluded.proof
      WHERE n.state <> 'OPTED_OUT' AND excluded.state = 'OPTED_OUT'
    RETURNING account_id, phone_number, channel, purpose, sender, state, source, since, proof)
  INSERT INTO consent_change (account_id, phone_number, channel, purpose, sender, state, source, at, proof)
  SELECT * FROM copied`;

/**
 * Points the other addresses of a person to the number that they have now, in the caller's transaction. The person who
 * had this number as another address has lost it.
 */
export async function moveAliases(
  tx: Db,
  { accountId, from, to }: { readonly accountId: number; readonly from: string; readonly to: string },
): Promise<void> {
  await exec(tx, sql`DELETE FROM person_alias WHERE account_id = ${accountId} AND alias = ${to}`);
  await exec(tx, sql`UPDATE person_alias SET person = ${to} WHERE account_id = ${accountId} AND person = ${from}`);
}

/** Copies what a person has said under one address to another one of theirs, in the caller's transaction. */
export async function copyConsent(
  tx: Db,
  { accountId, from, to }: { readonly accountId: number; readonly from: string; readonly to: string },
): Promise<void> {
  const pair = sql`(SELECT ${accountId}::bigint AS account_id, ${personOf(from)}::text AS one, ${to}::text AS other)`;
  await exec(tx, sql`WITH ${copyingSql(pair)}`);
}

/** Lists rows about persons again under all their other addresses, for what a person says about messages. */
export async function underOtherAddresses<Row extends Address & { readonly channel: Channel }>(
  db: Db,
  rows: readonly Row[],
): Promise<Row[]> {
  if (rows.length === 0) return [];
  const others = await many<{ accountId: number; person: string; other: string }>(
    db,
    sql`SELECT u.account_id AS "accountId", u.person, o AS other
        FROM ${addressRows(rows)} AS u CROSS JOIN LATERAL other_addresses(u.account_id, u.person) AS o`,
  );
  if (others.length === 0) return [];
  const byPerson = Map.groupBy(others, ({ accountId, person }) => `${accountId}/${person}`);
  return rows.flatMap((row) =>
    (byPerson.get(keyOfPerson(row)) ?? [])
      .filter(({ other }) => row.channel === 'WHATSAPP' || !isUserId(other))
      .map(({ other }) => ({ ...row, phoneNumber: other })),
  );
}
