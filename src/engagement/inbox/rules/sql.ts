import { plainArray } from '../../../platform/db/array.ts';
import { bigint, insertRows, rowsOf, text, uuid } from '../../../platform/db/columns.ts';
import { type Db, exec, many, maybeOne, one, sql } from '../../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../../platform/db/select.ts';
import type { OpenHours } from './hours.ts';
import type { InboxSettings } from './schema.ts';

type Of = { readonly accountId: number };

const SETTINGS = columns({
  accountId: as<number>('s.account_id'),
  assignment: as<InboxSettings['assignment']>('s.assignment'),
  closedAnswer: as<string | null>('s.closed_answer'),
  timeZone: as<string>('s.time_zone'),
  openHours: as<OpenHours[]>('s.open_hours'),
});
/** The settings of an account's inbox. */
export type SettingsRow = RowOf<typeof SETTINGS>;

export const findSettings = (db: Db, { accountId }: Of): Promise<SettingsRow | undefined> =>
  maybeOne(db, sql`SELECT ${SETTINGS} FROM inbox_settings s WHERE s.account_id = ${accountId}`);

/** Lists the settings of those of these accounts that have any. */
export const listSettings = (db: Db, { accountIds }: { accountIds: readonly number[] }): Promise<SettingsRow[]> =>
  many(db, sql`SELECT ${SETTINGS} FROM inbox_settings s WHERE s.account_id = ANY(${plainArray(accountIds)}::bigint[])`);

export const insertSettings = (db: Db, row: SettingsRow): Promise<number> =>
  exec(
    db,
    sql`INSERT INTO inbox_settings (account_id, assignment, closed_answer, time_zone, open_hours)
        VALUES (${row.accountId}, ${row.assignment}, ${row.closedAnswer}, ${row.timeZone},
          ${JSON.stringify(row.openHours)}::jsonb)
        ON CONFLICT (account_id) DO UPDATE SET assignment = excluded.assignment, closed_answer = excluded.closed_answer,
          time_zone = excluded.time_zone, open_hours = excluded.open_hours`,
  );

type Agent = Of & { readonly userId: number };

/** Returns true if the rule may assign conversations to a user. */
export async function isAvailable(db: Db, { accountId, userId }: Agent): Promise<boolean> {
  const row = await maybeOne<{ available: boolean }>(
    db,
    sql`SELECT available FROM inbox_agent WHERE account_id = ${accountId} AND user_id = ${userId}`,
  );
  return row?.available ?? false;
}

export const insertAvailability = (db: Db, agent: Agent & { readonly available: boolean }): Promise<number> =>
  exec(
    db,
    sql`INSERT INTO inbox_agent (account_id, user_id, available)
        VALUES (${agent.accountId}, ${agent.userId}, ${agent.available})
        ON CONFLICT (account_id, user_id) DO UPDATE SET available = excluded.available`,
  );

/** Lists the users of an account who are available and may reply, the one who has waited longest first. */
export async function listAvailableAgents(db: Db, { accountId }: Of): Promise<number[]> {
  const rows = await many<{ userId: number }>(
    db,
    sql`SELECT g.user_id AS "userId" FROM inbox_agent g
        JOIN app_user u ON u.account_id = g.account_id AND u.id = g.user_id AND u.role <> 'viewer'
        WHERE g.account_id = ${accountId} AND g.available ORDER BY g.assigned_at NULLS FIRST, g.user_id`,
  );
  return rows.map(({ userId }) => userId);
}

type Turn = Agent & { readonly chatId: string };

/** Assigns unassigned conversations. */
export const moveToAgents = (db: Db, turns: readonly Turn[]): Promise<number> =>
  exec(
    db,
    sql`UPDATE conversation c SET assignee_id = u.user_id
        FROM ${rowsOf(turns, {
          account_id: bigint((t) => t.accountId),
          chat_id: uuid((t) => t.chatId),
          user_id: bigint((t) => t.userId),
        })} AS u
        WHERE c.account_id = u.account_id AND c.chat_id = u.chat_id AND c.assignee_id IS NULL`,
  );

/** Records that these users had their turn; the later one in the list waits longer. */
export const updateTurns = (db: Db, turns: readonly Agent[]): Promise<number> =>
  exec(
    db,
    sql`UPDATE inbox_agent g SET assigned_at = clock_timestamp() + u.place * interval '1 microsecond'
        FROM (SELECT account_id, user_id, max(place) AS place FROM ${rowsOf(turns, {
          account_id: bigint((t) => t.accountId),
          user_id: bigint((t) => t.userId),
          place: bigint((t) => turns.indexOf(t)),
        })} AS v GROUP BY 1, 2) AS u
        WHERE g.account_id = u.account_id AND g.user_id = u.user_id`,
  );

type AutoAnswer = Of & { readonly chatId: string; readonly text: string };

/**
 * Records in conversations that they get the automatic answer of a closed period. Returns those that had not got it
 * yet.
 */
export async function moveToAnswered(
  db: Db,
  rows: readonly (Of & { readonly chatId: string; readonly period: string })[],
): Promise<Set<string>> {
  const moved = await many<{ chatId: string }>(
    db,
    sql`UPDATE conversation c SET answered_period = u.period
        FROM ${rowsOf(rows, {
          account_id: bigint((r) => r.accountId),
          chat_id: uuid((r) => r.chatId),
          period: text((r) => r.period),
        })} AS u
        WHERE c.account_id = u.account_id AND c.chat_id = u.chat_id AND c.answered_period IS DISTINCT FROM u.period
        RETURNING c.chat_id AS "chatId"`,
  );
  return new Set(moved.map(({ chatId }) => chatId));
}

/** Queues automatic answers; a conversation has at most one waiting. */
export const insertAutoAnswers = (db: Db, rows: readonly AutoAnswer[]): Promise<number> =>
  exec(
    db,
    sql`${insertRows('inbox_auto_answer', rows, { accountId: bigint, chatId: uuid, text })}
        ON CONFLICT (account_id, chat_id) DO NOTHING`,
  );

const AUTO_ANSWER = columns({
  accountId: as<number>('a.account_id'),
  chatId: as<string>('a.chat_id'),
  text: as<string>('a.text'),
});

/**
 * Claims due automatic answers of active accounts for `leaseSeconds`: until then no other worker gets them. Those not
 * deleted by then are due again.
 */
export const claimAutoAnswers = (
  db: Db,
  { limit, leaseSeconds }: { limit: number; leaseSeconds: number },
): Promise<AutoAnswer[]> =>
  many(
    db,
    sql`WITH due AS (
          SELECT d.account_id, d.chat_id FROM inbox_auto_answer d
          JOIN account k ON k.id = d.account_id AND k.status = 'active'
          WHERE d.due_at <= now()
          ORDER BY d.due_at LIMIT ${limit} FOR UPDATE OF d SKIP LOCKED)
        UPDATE inbox_auto_answer a SET due_at = now() + ${leaseSeconds}::int * interval '1 second'
        FROM due WHERE a.account_id = due.account_id AND a.chat_id = due.chat_id RETURNING ${AUTO_ANSWER}`,
  );

/** Returns the ms until the next automatic answer is due; null when none is waiting. */
export async function findNextAutoAnswerMs(db: Db): Promise<number | null> {
  const { ms } = await one<{ ms: number | null }>(
    db,
    sql`SELECT (extract(epoch FROM min(a.due_at) - now()) * 1000)::float8 AS ms FROM inbox_auto_answer a
        JOIN account k ON k.id = a.account_id AND k.status = 'active'`,
  );
  return ms;
}

/** Deletes an automatic answer; returns 0 when another worker has sent it. */
export const deleteAutoAnswer = (db: Db, { accountId, chatId }: Omit<AutoAnswer, 'text'>): Promise<number> =>
  exec(db, sql`DELETE FROM inbox_auto_answer WHERE account_id = ${accountId} AND chat_id = ${chatId}`);

/** Deletes automatic answers that are too late to help: they have waited since before `before`. */
export const deleteOldAutoAnswers = (db: Db, { before }: { before: Date }): Promise<number> =>
  exec(db, sql`DELETE FROM inbox_auto_answer WHERE created_at < ${before}`);
