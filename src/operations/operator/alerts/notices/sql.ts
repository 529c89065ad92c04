import { plainArray } from '../../../../platform/db/array.ts';
import { type Db, exec, many, one, sql } from '../../../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../../../platform/db/select.ts';
import { KIND_NAMES, kindNamed } from '../../attention/kinds.ts';
import { SEVERITIES } from '../../attention/sql.ts';
import { ALERT_COLUMNS } from '../sql.ts';
import type { AlertEvent } from '../states.ts';

/** The kinds that concern one account, whose administrators are told if operators want that. */
const OF_ACCOUNTS = KIND_NAMES.filter((kind) => kindNamed(kind).of === 'account');

/**
 * Inserts what each recipient has to be told about these alerts, by severity. The end of an alert is told to those who
 * could be told of its beginning.
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

/** Deletes what could not be told for three days. */
export const deleteOldNotices = (tx: Db): Promise<number> =>
  exec(tx, sql`DELETE FROM alert_notice WHERE created_at < now() - interval '3 days'`);

/**
 * Puts what a target has to be told into a batch, unless one is under way already: with `onlyProblems` nothing but
 * problems.
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

/** Lists the batch that a target has to be told, oldest first. */
export const listBatch = (db: Db, { targetId }: { targetId: number }): Promise<Notice[]> =>
  many<Notice>(
    db,
    sql`SELECT ${NOTICE}, ${ALERT_COLUMNS} FROM alert_notice n JOIN alert a ON a.id = n.alert_id
        WHERE n.target_id = ${targetId} AND n.batch IS NOT NULL ORDER BY n.id`,
  );

/** Deletes a batch that was told. */
export const deleteBatch = (tx: Db, { targetId, batch }: { targetId: number; batch: string }): Promise<number> =>
  exec(tx, sql`DELETE FROM alert_notice WHERE target_id = ${targetId} AND batch = ${batch}::uuid`);

/** Counts what waits to be told. */
export const countNotices = async (db: Db): Promise<number> =>
  (await one<{ total: number }>(db, sql`SELECT count(*) AS total FROM alert_notice`)).total;
