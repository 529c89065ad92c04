import { boolean, rowsOf, text } from '../../../platform/db/columns.ts';
import { type Db, exec, many, sql } from '../../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../../platform/db/select.ts';
import type { Notice } from '../../../carriers/events.ts';

/** Inserts notices of a connection, or replaces those of the same subject, and deletes old ones. */
export async function insertNotices(
  db: Db,
  { connectionId, notices }: { readonly connectionId: number; readonly notices: readonly Notice[] },
): Promise<void> {
  if (notices.length === 0) return;
  const newest = [...new Map(notices.map((notice) => [notice.subject, notice])).values()];
  await exec(
    db,
    sql`WITH old AS (
          DELETE FROM connection_notice n WHERE n.connection_id = ${connectionId} AND n.at < now() - interval '30 days')
        INSERT INTO connection_notice AS n (connection_id, subject, text, serious)
        SELECT c.id, u.subject, u.text, u.serious
        FROM connection c, ${rowsOf(newest, {
          subject: text((n) => n.subject),
          text: text((n) => n.text),
          serious: boolean((n) => n.serious),
        })} AS u
        WHERE c.id = ${connectionId} ORDER BY u.subject
        ON CONFLICT (connection_id, subject)
        DO UPDATE SET text = excluded.text, serious = excluded.serious, at = now()`,
  );
}

const NOTICE = columns({
  connection: as<string>('c.name'),
  text: as<string>('n.text'),
  at: as<Date>('n.at'),
});

/** Lists the serious notices of the past week, the newest first. */
export async function listSeriousNotices(db: Db): Promise<RowOf<typeof NOTICE>[]> {
  return many(
    db,
    sql`SELECT ${NOTICE} FROM connection_notice n JOIN connection c ON c.id = n.connection_id
        WHERE n.serious AND n.at > now() - interval '7 days' ORDER BY n.at DESC, n.subject`,
  );
}
