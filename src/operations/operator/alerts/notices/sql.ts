import { plainArray } from '../../../../platform/db/array.ts';
import { type Db, exec, many, one, sql } from '../../../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../../../platform/db/select.ts';
import { KIND_NAMES, kindNamed } from '../../attention/kinds.ts';
import { SEVERITIES } from '../../attention/sql.ts';
import { ALERT_COLUMNS } from '../sql.ts';
import type { AlertEvent } from '../states.ts';

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

/** Deletes a batch that was sent. */
export const deleteBatch = (tx: Db, { targetId, batch }: { targetId: number; batch: string }): Promise<number> =>
  exec(tx, sql`DELETE FROM alert_notice WHERE target_id = ${targetId} AND batch = ${batch}::uuid`);

/** Counts the waiting notices. */
export const countNotices = async (db: Db): Promise<number> =>
  (await one<{ total: number }>(db, sql`SELECT count(*) AS total FROM alert_notice`)).total;
