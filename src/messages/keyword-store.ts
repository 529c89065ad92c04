import type { Channel } from '../core/channels.ts';
import { bigint, insertRows, smallint, text, uuid } from '../core/db/columns.ts';
import {
  as,
  columns,
  type Db,
  exec,
  many,
  maybeOne,
  one,
  plainArray,
  type RowOf,
  sql,
  textArray,
} from '../core/db/query.ts';

/** The NOTIFY channel for replies and copies to be sent. */
export const KEYWORDS_CHANNEL = 'heliograph_keywords';

const RULE = columns({
  accountId: as<number>('r.account_id'),
  id: as<number>('r.id'),
  /** Without a plus; null: any number of the account. */
  number: as<string | null>('r.number'),
  keyword: as<string>('r.keyword'),
  answer: as<string | null>('r.answer'),
  /** An https URL, an email address or an E.164 number. */
  forwardTo: as<string | null>('r.forward_to'),
  /** Reason why the last reply or copy was not sent. */
  fault: as<string | null>('r.fault'),
  faultAt: as<Date | null>('r.fault_at'),
  createdAt: as<Date>('r.created_at'),
});
export type KeywordRule = RowOf<typeof RULE>;
export type NewRule = Pick<KeywordRule, 'accountId' | 'number' | 'keyword' | 'answer' | 'forwardTo'>;

/** Lists the rules of these accounts. */
export async function listRulesOf(db: Db, { accountIds }: { accountIds: readonly number[] }): Promise<KeywordRule[]> {
  return many(
    db,
    sql`SELECT ${RULE} FROM keyword_rule r WHERE r.account_id = ANY(${plainArray(accountIds)}::bigint[]) ORDER BY r.id`,
  );
}

type Page = { readonly accountId: number; readonly limit: number; readonly offset: number };

export async function listRules(db: Db, { accountId, limit, offset }: Page): Promise<KeywordRule[]> {
  return many(
    db,
    sql`SELECT ${RULE} FROM keyword_rule r WHERE r.account_id = ${accountId}
        ORDER BY r.keyword, r.number NULLS FIRST LIMIT ${limit} OFFSET ${offset}`,
  );
}

export async function countRules(db: Db, { accountId }: { accountId: number }): Promise<number> {
  const { total } = await one<{ total: number }>(
    db,
    sql`SELECT count(*) AS total FROM keyword_rule WHERE account_id = ${accountId}`,
  );
  return total;
}

/** Inserts a rule; undefined when there is one for the same number and keyword. */
export async function insertRule(db: Db, rule: NewRule): Promise<KeywordRule | undefined> {
  return maybeOne(
    db,
    sql`INSERT INTO keyword_rule AS r (account_id, number, keyword, answer, forward_to)
        VALUES (${rule.accountId}, ${rule.number}, ${rule.keyword}, ${rule.answer}, ${rule.forwardTo})
        ON CONFLICT (account_id, number, keyword) DO NOTHING RETURNING ${RULE}`,
  );
}

/** Locks a rule of an account; undefined when it has none with this id. */
export async function lockRule(db: Db, { accountId, id }: RuleKey): Promise<KeywordRule | undefined> {
  return maybeOne(
    db,
    sql`SELECT ${RULE} FROM keyword_rule r WHERE r.account_id = ${accountId} AND r.id = ${id} FOR UPDATE OF r`,
  );
}

type RuleKey = { readonly accountId: number; readonly id: number };

/** Updates a rule, and clears its fault. Fails (23505) when another one has the same number and keyword. */
export async function updateRule(db: Db, rule: NewRule & { readonly id: number }): Promise<KeywordRule> {
  return one(
    db,
    sql`UPDATE keyword_rule r SET number = ${rule.number}, keyword = ${rule.keyword}, answer = ${rule.answer},
          forward_to = ${rule.forwardTo}, fault = NULL, fault_at = NULL
        WHERE r.account_id = ${rule.accountId} AND r.id = ${rule.id} RETURNING ${RULE}`,
  );
}

/** Deletes a rule and returns it; undefined when the account has none with this id. */
export async function deleteRule(db: Db, { accountId, id }: RuleKey): Promise<KeywordRule | undefined> {
  return maybeOne(
    db,
    sql`DELETE FROM keyword_rule r WHERE r.account_id = ${accountId} AND r.id = ${id} RETURNING ${RULE}`,
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

export type ActionKind = 'answer' | 'sms' | 'mail' | 'post';

export type NewAction = {
  readonly accountId: number;
  readonly inboundId: string;
  readonly kind: ActionKind;
  readonly ruleId: number;
  readonly keyword: string;
  /** The person, or the target of the copy. */
  readonly target: string;
  /** The text of a reply; null for a copy. */
  readonly answer: string | null;
};

/** Queues replies and copies, and wakes the workers when the transaction is committed. */
export async function insertActions(db: Db, actions: readonly NewAction[]): Promise<void> {
  await exec(
    db,
    insertRows('keyword_action', actions, {
      accountId: bigint,
      inboundId: uuid,
      kind: text,
      ruleId: bigint,
      keyword: text,
      target: text,
      answer: text,
    }),
  );
  await exec(db, sql`SELECT pg_notify(${KEYWORDS_CHANNEL}, '')`);
}

const ACTION = columns({
  accountId: as<number>('k.account_id'),
  inboundId: as<string>('k.inbound_id'),
  kind: as<ActionKind>('k.kind'),
  ruleId: as<number>('k.rule_id'),
  keyword: as<string>('k.keyword'),
  target: as<string>('k.target'),
  answer: as<string | null>('k.answer'),
  failures: as<number>('k.failures'),
  channel: as<Channel>('m.channel'),
  /** The person as the carrier writes it, without a plus. */
  source: as<string>('m.source'),
  /** The number that they wrote to, without a plus. */
  destination: as<string>('m.destination'),
  body: as<string>('m.body'),
  receivedAt: as<Date>('m.received_at'),
});
/** A reply or a copy that is due, with its inbound message. */
export type Action = RowOf<typeof ACTION>;

/** Limit of due actions considered. Beyond it, those of an account with a slow receiver can keep others waiting. */
const LOOKED_AT = 1000;

/**
 * Claims due replies and copies of these kinds and of active accounts for `leaseSeconds`: until then no other worker
 * gets them. At most `perAccount` are of one account, so that one whose receiver is slow leaves room for the others.
 * Anything not deleted by then is due again.
 */
export async function claimActions(
  db: Db,
  {
    kinds,
    limit,
    perAccount,
    leaseSeconds,
  }: {
    kinds: readonly ActionKind[];
    limit: number;
    perAccount: number;
    leaseSeconds: number;
  },
): Promise<Action[]> {
  return many(
    db,
    sql`WITH first AS MATERIALIZED (
          SELECT f.account_id, f.inbound_id, f.kind, f.due_at,
                 row_number() OVER (PARTITION BY f.account_id ORDER BY f.due_at) AS place
          FROM (SELECT k.* FROM ${waitingActions(kinds)} WHERE k.due_at <= now()
                ORDER BY k.due_at LIMIT ${LOOKED_AT}) AS f),
        due AS (
          SELECT d.account_id, d.inbound_id, d.kind
          FROM keyword_action d JOIN first f USING (account_id, inbound_id, kind)
          WHERE f.place <= ${perAccount} AND d.due_at <= now()
          ORDER BY f.due_at LIMIT ${limit} FOR UPDATE OF d SKIP LOCKED)
        UPDATE keyword_action k SET due_at = now() + ${leaseSeconds}::int * interval '1 second'
        FROM due, inbound_message m
        WHERE k.account_id = due.account_id AND k.inbound_id = due.inbound_id AND k.kind = due.kind
          AND m.account_id = k.account_id AND m.id = k.inbound_id
        RETURNING ${ACTION}`,
  );
}

/**
 * Actions `k` that can be carried out, for the FROM of a statement: their account is active, and their message still
 * exists.
 */
const waitingActions = (kinds: readonly ActionKind[]) => sql`keyword_action k
  JOIN account a ON a.id = k.account_id AND a.status = 'active' AND k.kind = ANY(${textArray(kinds)}::text[])
  JOIN inbound_message i ON i.account_id = k.account_id AND i.id = k.inbound_id`;

/** Returns in how many ms the next reply or copy of these kinds is due; null when none waits. */
export async function findNextActionMs(db: Db, { kinds }: { kinds: readonly ActionKind[] }): Promise<number | null> {
  const next = await one<{ ms: number | null }>(
    db,
    sql`SELECT (extract(epoch FROM min(k.due_at) - now()) * 1000)::float8 AS ms FROM ${waitingActions(kinds)}`,
  );
  return next.ms;
}

type ActionKey = Pick<Action, 'accountId' | 'inboundId' | 'kind'>;

/** Deletes a reply or a copy; returns 0 when another worker has done it. */
export async function deleteAction(db: Db, { accountId, inboundId, kind }: ActionKey): Promise<number> {
  return exec(
    db,
    sql`DELETE FROM keyword_action WHERE account_id = ${accountId} AND inbound_id = ${inboundId} AND kind = ${kind}`,
  );
}

/** Makes a reply or a copy due again later. */
export async function moveActionToLater(
  db: Db,
  { accountId, inboundId, kind, delayMs }: ActionKey & { readonly delayMs: number },
): Promise<void> {
  await exec(
    db,
    sql`UPDATE keyword_action SET failures = failures + 1, due_at = now() + ${Math.round(delayMs)}::int * interval '1 ms'
        WHERE account_id = ${accountId} AND inbound_id = ${inboundId} AND kind = ${kind}`,
  );
}

/**
 * Deletes replies and copies that have waited since before `beforeId`, such as those of accounts that are not served.
 */
export async function deleteOldActions(db: Db, { beforeId }: { beforeId: string }): Promise<number> {
  return exec(db, sql`DELETE FROM keyword_action WHERE inbound_id < ${beforeId}::uuid`);
}
