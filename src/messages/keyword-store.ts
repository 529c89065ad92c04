import type { Channel, Purpose } from '../core/channels.ts';
import { bigint, insertRows, smallint, text } from '../core/db/columns.ts';
import { as, columns, type Db, exec, many, maybeOne, plainArray, type RowOf, sql } from '../core/db/query.ts';

type RuleKey = { readonly accountId: number; readonly id: number };

/** The columns of a keyword rule `r`. */
export const RULE = columns({
  accountId: as<number>('r.account_id'),
  id: as<number>('r.id'),
  /** Number of the account without a plus; null: any of its numbers. */
  number: as<string | null>('r.number'),
  keyword: as<string>('r.keyword'),
  answer: as<string | null>('r.answer'),
  /** An https URL, an email address or an E.164 number. */
  forwardTo: as<string | null>('r.forward_to'),
  purpose: as<Purpose>('r.purpose'),
  /** Reason why the last reply or copy was not sent. */
  fault: as<string | null>('r.fault'),
  faultAt: as<Date | null>('r.fault_at'),
  createdAt: as<Date>('r.created_at'),
});
export type KeywordRule = RowOf<typeof RULE>;

export async function listRulesOf(db: Db, { accountIds }: { accountIds: readonly number[] }): Promise<KeywordRule[]> {
  return many(
    db,
    sql`SELECT ${RULE} FROM keyword_rule r WHERE r.account_id = ANY(${plainArray(accountIds)}::bigint[]) ORDER BY r.id`,
  );
}

/** Records why a reply or a copy of a rule was not sent. */
export async function updateFault(db: Db, { accountId, id, fault }: RuleKey & { fault: string }): Promise<void> {
  await exec(
    db,
    sql`UPDATE keyword_rule SET fault = ${fault}, fault_at = now() WHERE account_id = ${accountId} AND id = ${id}`,
  );
}

/** A person who wrote to a number of an account. */
export type Pair = { readonly accountId: number; readonly number: string; readonly person: string };

const COUNT = columns({
  accountId: as<number>('c.account_id'),
  number: as<string>('c.number'),
  person: as<string>('c.person'),
  messages: as<number>('c.messages'),
});
/** Number of messages that keywords made for a pair in an hour. */
export type PairCount = RowOf<typeof COUNT>;

/** No pair has more messages in an hour than the column holds. */
const MAX_COUNTED = 30_000;

/**
 * Adds messages to the counts of the hour that begins at `hour`, and returns the counts with them. No pair may occur
 * twice, and the pairs must be in the order of their keys, because they are locked in that order.
 */
export async function insertCounts(
  db: Db,
  { counts, hour }: { counts: readonly PairCount[]; hour: Date },
): Promise<PairCount[]> {
  return many(
    db,
    sql`${insertRows(
      'keyword_count AS c',
      counts,
      { accountId: bigint, number: text, person: text, messages: smallint },
      { hour: sql`${hour}` },
    )}
        ON CONFLICT (account_id, number, person) DO UPDATE SET hour = excluded.hour,
          messages = least(${MAX_COUNTED}::int,
                           CASE WHEN c.hour = excluded.hour THEN c.messages ELSE 0 END + excluded.messages)
        RETURNING ${COUNT}`,
  );
}

/** Deletes the counts of past hours. Returns how many there were. */
export async function deleteOldCounts(db: Db, { before }: { before: Date }): Promise<number> {
  return exec(db, sql`DELETE FROM keyword_count WHERE hour < ${before}`);
}

const RECEIVED = columns({
  channel: as<Channel>('m.channel'),
  /** The person as the carrier writes it, without a plus. */
  source: as<string>('m.source'),
  /** The number that they wrote to, without a plus. */
  destination: as<string>('m.destination'),
  body: as<string>('m.body'),
  receivedAt: as<Date>('m.received_at'),
});
export type Received = RowOf<typeof RECEIVED>;

/** Finds an inbound message; undefined when it was deleted meanwhile. */
export const findReceived = (
  db: Db,
  message: { accountId: number; inboundId: string },
): Promise<Received | undefined> =>
  maybeOne(
    db,
    sql`SELECT ${RECEIVED} FROM inbound_message m WHERE m.account_id = ${message.accountId} AND m.id = ${message.inboundId}`,
  );
