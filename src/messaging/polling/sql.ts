import { type Db, maybeOne, sql } from '../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../platform/db/select.ts';

const CLAIM = columns({ cursor: as<string | null>('cursor'), dueAt: as<string>('due_at::text') });

/** The exclusive right to fetch the events of a connection, until `dueAt`. */
export type Claim = RowOf<typeof CLAIM>;

/**
 * Claims a connection whose events are due for `leaseMs`; undefined when they are not, or another worker fetches them.
 */
export async function claimPoll(
  db: Db,
  { connectionId, leaseMs }: { readonly connectionId: number; readonly leaseMs: number },
): Promise<Claim | undefined> {
  return maybeOne(
    db,
    sql`INSERT INTO connection_poll AS p (connection_id, due_at)
        SELECT id, clock_timestamp() + ${leaseMs} * interval '1 ms' FROM connection WHERE id = ${connectionId}
        ON CONFLICT (connection_id) DO UPDATE SET due_at = excluded.due_at WHERE p.due_at <= clock_timestamp()
        RETURNING ${CLAIM}`,
  );
}

type Ended = {
  readonly connectionId: number;
  readonly dueAt: string;
  /** Null leaves it unchanged. */
  readonly cursor: string | null;
  readonly afterMs: number;
};

/**
 * Ends a claim: keeps the cursor, and is due again after `afterMs`. Undefined when another worker has taken it over.
 */
export async function updatePoll(
  db: Db,
  { connectionId, dueAt, cursor, afterMs }: Ended,
): Promise<{ connectionId: number } | undefined> {
  return maybeOne(
    db,
    sql`UPDATE connection_poll
        SET cursor = coalesce(${cursor}, cursor), due_at = clock_timestamp() + ${afterMs} * interval '1 ms'
        WHERE connection_id = ${connectionId} AND due_at = ${dueAt}::timestamptz
        RETURNING ${columns({ connectionId: as<number>('connection_id') })}`,
  );
}
