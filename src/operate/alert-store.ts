import { bigint, input, insertRows, int, rowsOf, text, timestamptz } from '../core/db/columns.ts';
import {
  as,
  columns,
  countRows,
  type Db,
  exec,
  many,
  maybeOne,
  one,
  plainArray,
  type RowOf,
  type Sql,
  sql,
} from '../core/db/query.ts';
import {
  type Attention,
  type AttentionKind,
  KIND_NAMES,
  kindNamed,
  type RuleRow,
  SEVERITIES,
  type Severity,
} from './attention.ts';

/**
 * The states of an alert: pending until its condition has held long enough, then firing, acknowledged once a person has
 * confirmed it, and resolved when the condition no longer holds. A resolved alert is final: the same condition later is
 * another alert.
 */
export const ALERT_STATES = ['pending', 'firing', 'acknowledged', 'resolved'] as const;
export type AlertState = (typeof ALERT_STATES)[number];

/** Events of an alert that recipients are notified of. */
const ALERT_EVENTS = ['fired', 'reminder', 'resolved'] as const;
type AlertEvent = (typeof ALERT_EVENTS)[number];

/**
 * Takes the turn to evaluate, until the transaction ends; false when another process did it less than `everyMs` ago.
 */
export async function claimEvaluation(tx: Db, { everyMs }: { everyMs: number }): Promise<boolean> {
  const claimed = await exec(
    tx,
    sql`UPDATE alert_evaluation SET evaluated_at = now()
        WHERE single = (SELECT single FROM alert_evaluation
                      WHERE evaluated_at <= now() - ${everyMs} * interval '1 millisecond' FOR UPDATE SKIP LOCKED)`,
  );
  return claimed === 1;
}

/** Finds the time of the last evaluation of the conditions. */
export const findEvaluation = (db: Db): Promise<{ at: Date }> =>
  one(db, sql`SELECT evaluated_at AS at FROM alert_evaluation`);

/** A condition that holds. */
export type Seen = Attention & { readonly place: string };

/**
 * Inserts conditions that hold as pending alerts, or renews the open alerts of those that held before. A pending one that
 * was not seen for a minute begins again. At most one row for a kind and place.
 */
export async function insertSeen(tx: Db, rows: readonly Seen[]): Promise<void> {
  if (rows.length === 0) return;
  await exec(
    tx,
    sql`${insertRows(
      'alert AS a',
      rows,
      {
        kind: text,
        place: text,
        severity: text,
        subject: text,
        subjectId: bigint,
        count: bigint,
        accounts: bigint,
        compared: int,
        detail: text,
        since: input(timestamptz),
      },
      { since: sql`least(coalesce(u.since, now()), now())` },
    )}
        ON CONFLICT (kind, place) WHERE state <> 'resolved' DO UPDATE SET severity = excluded.severity,
          subject = excluded.subject, subject_id = excluded.subject_id, count = excluded.count,
          accounts = excluded.accounts, compared = excluded.compared, detail = excluded.detail,
          since = least(a.since, excluded.since), seen_at = now(),
          found_at = CASE WHEN a.state = 'pending' AND a.seen_at < now() - interval '1 minute'
                          THEN now() ELSE a.found_at END`,
  );
}

/** Deletes pending alerts whose condition was not seen in this transaction. */
export const deletePassed = (tx: Db): Promise<number> =>
  exec(tx, sql`DELETE FROM alert WHERE state = 'pending' AND seen_at < now()`);

const idsOf = async (tx: Db, query: Sql): Promise<number[]> =>
  (await many<{ id: number }>(tx, query)).map(({ id }) => id);

/**
 * Moves pending alerts to firing whose condition has held as long as the rule of their kind requires. Returns their
 * ids.
 */
export const moveToFiring = async (
  tx: Db,
  { rules }: { rules: readonly Pick<RuleRow, 'kind' | 'forSeconds'>[] },
): Promise<number[]> =>
  rules.length === 0
    ? []
    : idsOf(
        tx,
        sql`UPDATE alert a SET state = 'firing', fired_at = now(), told_at = now(), told_severity = a.severity
        FROM ${rowsOf(rules, { kind: text((r) => r.kind), for_seconds: int((r) => r.forSeconds) })} AS r
        WHERE a.state = 'pending' AND a.kind = r.kind AND a.found_at <= now() - r.for_seconds * interval '1 second'
        RETURNING a.id`,
      );

/** Moves alerts that have become a problem back to firing, also acknowledged ones. Returns their ids. */
export const moveWorseToFiring = (tx: Db): Promise<number[]> =>
  idsOf(
    tx,
    sql`UPDATE alert SET state = 'firing', told_at = now(), told_severity = severity, acknowledged_at = NULL,
          acknowledged_by = NULL
        WHERE state IN ('firing', 'acknowledged') AND severity = 'error' AND told_severity <> 'error'
        RETURNING id`,
  );

/** Lists the accounts, with their balances, that these alerts report as running out of credit. */
export const listLowCredit = (
  tx: Db,
  { alertIds }: { alertIds: readonly number[] },
): Promise<{ accountId: number; availableMicros: number; currency: string }[]> =>
  many(
    tx,
    sql`SELECT b.account_id AS "accountId", b.available_micros AS "availableMicros", b.currency
        FROM alert a JOIN credit_balance b ON b.account_id = a.subject_id
        WHERE a.id = ANY(${plainArray(alertIds)}::bigint[]) AND a.kind = 'low_credit'`,
  );

/** Moves alerts to resolved whose condition was not seen for this long. Returns their ids. */
export const moveToResolved = (tx: Db, { afterSeconds }: { afterSeconds: number }): Promise<number[]> =>
  idsOf(
    tx,
    sql`UPDATE alert SET state = 'resolved', resolved_at = now()
        WHERE state IN ('firing', 'acknowledged') AND seen_at < now() - ${afterSeconds} * interval '1 second'
        RETURNING id`,
  );

/** Marks problems that were not acknowledged for this long as reminded. Returns their ids. */
export const updateReminded = (tx: Db, { everySeconds }: { everySeconds: number }): Promise<number[]> =>
  idsOf(
    tx,
    sql`UPDATE alert SET told_at = now()
        WHERE state = 'firing' AND severity = 'error' AND told_at < now() - ${everySeconds} * interval '1 second'
        RETURNING id`,
  );

const ALERT = columns({
  id: as<number>('a.id'),
  kind: as<AttentionKind>('a.kind'),
  state: as<AlertState>('a.state'),
  severity: as<Severity>('a.severity'),
  subject: as<string | null>('a.subject'),
  subjectId: as<number | null>('a.subject_id'),
  count: as<number | null>('a.count'),
  accounts: as<number | null>('a.accounts'),
  compared: as<number | null>('a.compared'),
  detail: as<string | null>('a.detail'),
  since: as<Date>('a.since'),
  firedAt: as<Date | null>('a.fired_at'),
  acknowledgedAt: as<Date | null>('a.acknowledged_at'),
  acknowledgedBy: as<string | null>('a.acknowledged_by'),
  resolvedAt: as<Date | null>('a.resolved_at'),
});
/** The select list of an alert `a`. */
export const ALERT_COLUMNS = ALERT;
export type Alert = RowOf<typeof ALERT>;

/** Moves a firing alert to acknowledged; undefined when it is not firing. */
export const moveToAcknowledged = (
  tx: Db,
  { id, by }: { id: number; by: string },
): Promise<{ kind: AttentionKind; subject: string | null } | undefined> =>
  maybeOne(
    tx,
    sql`UPDATE alert SET state = 'acknowledged', acknowledged_at = now(), acknowledged_by = ${by}
        WHERE id = ${id} AND state = 'firing' RETURNING kind, subject`,
  );

export const findAlert = (db: Db, { id }: { id: number }): Promise<Alert | undefined> =>
  maybeOne(db, sql`SELECT ${ALERT} FROM alert a WHERE a.id = ${id} AND a.state <> 'pending'`);

type Filter = { readonly states: readonly AlertState[] };

/** Lists a page of the alerts in these states: unacknowledged ones first, then problems, then the newest. */
export const listAlerts = (
  db: Db,
  { states, limit, offset }: Filter & { limit: number; offset: number },
): Promise<Alert[]> =>
  many(
    db,
    sql`SELECT ${ALERT} FROM alert a WHERE a.state = ANY(${[...states]}::text[])
        ORDER BY a.state <> 'firing', CASE WHEN a.state = 'resolved' THEN NULL ELSE a.severity <> 'error' END,
                 coalesce(a.resolved_at, a.fired_at) DESC, a.id DESC
        LIMIT ${limit} OFFSET ${offset}`,
  );

export const countAlerts = (db: Db, { states }: Filter): Promise<number> =>
  countRows(db, sql`FROM alert WHERE state = ANY(${[...states]}::text[])`);

export const countOpen = (db: Db): Promise<{ kind: string; state: string; count: number }[]> =>
  many(
    db,
    sql`SELECT kind, state, count(*) AS count FROM alert WHERE state IN ('firing', 'acknowledged')
        GROUP BY kind, state ORDER BY kind, state`,
  );

export async function insertRule(tx: Db, { kind, enabled, forSeconds, threshold }: RuleRow): Promise<void> {
  await exec(
    tx,
    sql`INSERT INTO alert_rule (kind, enabled, for_seconds, threshold)
        VALUES (${kind}, ${enabled}, ${forSeconds}, ${threshold})
        ON CONFLICT (kind) DO UPDATE SET enabled = excluded.enabled, for_seconds = excluded.for_seconds,
          threshold = excluded.threshold`,
  );
}

/** Lists the email addresses among the names of the administrators of these accounts. */
export const listOwners = (
  db: Db,
  { accountIds }: { accountIds: readonly number[] },
): Promise<{ accountId: number; username: string }[]> =>
  many(
    db,
    sql`SELECT account_id AS "accountId", username FROM app_user
        WHERE account_id = ANY(${plainArray(accountIds)}::bigint[]) AND role = 'admin' AND username LIKE '%@%'
        ORDER BY account_id, id`,
  );

/** The kinds that concern one account, whose administrators are notified if operators want that. */
const OF_ACCOUNTS = KIND_NAMES.filter((kind) => kindNamed(kind).of === 'account');

/**
 * Inserts the notices of these alerts for each recipient, by severity. Only recipients that could be notified of the
 * beginning of an alert are notified of its end.
 */
export async function insertNotices(
  tx: Db,
  { alertIds, event }: { alertIds: readonly number[]; event: AlertEvent },
): Promise<void> {
  if (alertIds.length === 0) return;
  const ranks = sql`${[...SEVERITIES]}::text[]`;
  await exec(
    tx,
    sql`INSERT INTO alert_notice (target_id, alert_id, event)
        SELECT t.id, a.id, ${event}::text FROM alert a
        JOIN alert_target t ON array_position(${ranks}, t.severity) >= array_position(${ranks}, a.told_severity)
          AND (t.kind <> 'owners' OR a.kind = ANY(${[...OF_ACCOUNTS]}::text[]))
          AND (${event}::text <> 'resolved' OR t.created_at <= a.fired_at)
        WHERE a.id = ANY(${plainArray(alertIds)}::bigint[]) ORDER BY a.id, t.id`,
  );
}

/** Deletes notices that could not be sent for three days. */
export const deleteOldNotices = (tx: Db): Promise<number> =>
  exec(tx, sql`DELETE FROM alert_notice WHERE created_at < now() - interval '3 days'`);

/**
 * Puts the notices of a target into a batch, unless one is under way already: with `onlyProblems` nothing but problems.
 */
export async function updateBatch(
  tx: Db,
  { targetId, batch, onlyProblems }: { targetId: number; batch: string; onlyProblems: boolean },
): Promise<void> {
  await exec(
    tx,
    sql`UPDATE alert_notice n SET batch = ${batch}::uuid FROM alert a
        WHERE n.target_id = ${targetId} AND n.batch IS NULL AND a.id = n.alert_id
          AND (NOT ${onlyProblems}::boolean OR a.told_severity = 'error')
          AND NOT EXISTS (SELECT FROM alert_notice o WHERE o.target_id = ${targetId} AND o.batch IS NOT NULL)`,
  );
}

const NOTICE = columns({ batch: as<string>('n.batch'), event: as<AlertEvent>('n.event') });
export type Notice = RowOf<typeof NOTICE> & RowOf<typeof ALERT_COLUMNS>;

/** Lists the notices of a target's batch, oldest first. */
export const listBatch = (db: Db, { targetId }: { targetId: number }): Promise<Notice[]> =>
  many<Notice>(
    db,
    sql`SELECT ${NOTICE}, ${ALERT_COLUMNS} FROM alert_notice n JOIN alert a ON a.id = n.alert_id
        WHERE n.target_id = ${targetId} AND n.batch IS NOT NULL ORDER BY n.id`,
  );

export const deleteBatch = (tx: Db, { targetId, batch }: { targetId: number; batch: string }): Promise<number> =>
  exec(tx, sql`DELETE FROM alert_notice WHERE target_id = ${targetId} AND batch = ${batch}::uuid`);

export const countNotices = (db: Db): Promise<number> => countRows(db, sql`FROM alert_notice`);
