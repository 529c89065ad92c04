import { type Db, many, sql } from '../../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../../platform/db/select.ts';
import { type Channel, CHANNELS } from '../../../platform/lib/channel.ts';
import { ALL_ROUTES } from '../sql.ts';

const UNUSABLE = columns({
  id: as<number>('l.id'),
  name: as<string>('l.name'),
  status: as<'active' | 'paused'>('l.status'),
  /** Time since which no worker has it up; null while it is paused. */
  since: as<Date | null>('max(d.since)'),
  /** True if each of its routes has another connection that is up. */
  covered: as<boolean>('bool_and(EXISTS (SELECT FROM link o WHERE o.way = l.way AND o.usable))'),
});
export type UnusableConnection = RowOf<typeof UNUSABLE>;

type Whose = { readonly accountId: number | null; readonly channels?: readonly Channel[] };

/**
 * Lists the connections that messages of an account use on these channels, by its routes or senders, and that take
 * nothing now: they are paused, or no worker has them up. With the account null: of all accounts. Needs the rights of
 * the program, because accounts may not read these tables.
 */
export async function listUnusableConnections(
  db: Db,
  { accountId, channels = CHANNELS }: Whose,
): Promise<UnusableConnection[]> {
  const ofThese = sql`channel = ANY(${[...channels]}::text[])
    AND (${accountId}::bigint IS NULL OR owner_id IS NULL OR owner_id = ${accountId})`;
  return many(
    db,
    sql`WITH used AS (
          SELECT connection_id, channel || '/' || prefix AS way FROM ${ALL_ROUTES} AS r
          WHERE channel = 'SMS' AND ${ofThese}
          UNION
          SELECT connection_id, channel || '/' || identity FROM sender WHERE connection_id IS NOT NULL AND ${ofThese}),
        link AS (
          SELECT u.way, c.id, c.name, c.status, c.status = 'active' AND EXISTS (
            SELECT FROM connection_status s WHERE s.connection_id = c.id AND s.up
              AND s.updated_at > now() - interval '1 minute') AS usable
          FROM used u JOIN connection c ON c.id = u.connection_id)
        SELECT ${UNUSABLE}
        FROM link l LEFT JOIN connection_down d ON d.connection_id = l.id AND l.status = 'active'
        WHERE NOT l.usable
        GROUP BY l.id, l.name, l.status ORDER BY l.name`,
  );
}
