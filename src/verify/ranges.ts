import { type Author, recordAudit } from '../accounts/audit.ts';
import { as, columns, type Db, exec, many, maybeOne, type RowOf, sql, timeOf } from '../core/db/query.ts';
import { firstIdAt } from '../core/ids.ts';
import { HOUR_MS, MINUTE_MS } from '../core/time.ts';
import type { Decision, Range, Reason } from './guard.ts';

/** Approved probes that reopen a paused range. */
const PROBES_TO_REOPEN = 2;
const MAX_PROBES = 20;

type Place = { readonly accountId: number; readonly prefix: string };

/** Pauses a range because of a decision. One that another process has paused meanwhile stays as it is. */
export async function pauseRange(
  tx: Db,
  {
    accountId,
    at,
    pause,
    reasons,
  }: { accountId: number; at: Date; pause: NonNullable<Decision['pause']>; reasons: readonly Reason[] },
): Promise<boolean> {
  const until = new Date(at.getTime() + pause.minutes * MINUTE_MS);
  const paused = await exec(
    tx,
    sql`INSERT INTO verify_range AS r (account_id, prefix, state, level, since, until, reasons)
        VALUES (${accountId}, ${pause.prefix}, 'PAUSED', ${pause.level}, ${at}, ${until}, ${JSON.stringify(reasons)})
        ON CONFLICT (account_id, prefix) DO UPDATE
          SET state = 'PAUSED', level = excluded.level, since = excluded.since, until = excluded.until,
              reasons = excluded.reasons, probes = '{}', probes_approved = 0, stopped = 0
          WHERE r.state = 'OPEN' OR r.state = 'PAUSED' AND r.until <= excluded.since`,
  );
  return paused === 1;
}

/** Takes a probe of a paused range. Returns false if another send has taken it. */
export async function takeProbe(tx: Db, { accountId, prefix, at }: Place & { at: Date }): Promise<boolean> {
  const taken = await exec(
    tx,
    sql`UPDATE verify_range SET probes = (probes || ${at}::timestamptz)[greatest(1, cardinality(probes) - ${MAX_PROBES}):], stopped = 0
        WHERE account_id = ${accountId} AND prefix = ${prefix} AND state = 'PAUSED'
          AND coalesce(probes[cardinality(probes)], since) <= ${at}::timestamptz - interval '10 minutes'`,
  );
  return taken === 1;
}

/** Counts a send that a pause has stopped. */
export async function countStopped(tx: Db, { accountId, prefix }: Place): Promise<void> {
  await exec(
    tx,
    sql`UPDATE verify_range SET stopped = stopped + 1
        WHERE account_id = ${accountId} AND prefix = ${prefix} AND state = 'PAUSED'`,
  );
}

/** Counts an approved probe; with the second one the range is open again, and its history forgotten. */
export async function approveProbe(tx: Db, { accountId, prefix, at }: Place & { at: Date }): Promise<void> {
  await exec(
    tx,
    sql`UPDATE verify_range
        SET probes_approved = probes_approved + 1,
            state = CASE WHEN probes_approved + 1 >= ${PROBES_TO_REOPEN} THEN 'OPEN' ELSE state END,
            level = CASE WHEN probes_approved + 1 >= ${PROBES_TO_REOPEN} THEN 0 ELSE level END,
            since = CASE WHEN probes_approved + 1 >= ${PROBES_TO_REOPEN} THEN ${at} ELSE since END,
            until = CASE WHEN probes_approved + 1 >= ${PROBES_TO_REOPEN} THEN NULL ELSE until END
        WHERE account_id = ${accountId} AND prefix = ${prefix} AND state = 'PAUSED'`,
  );
}

const LISTED = columns({
  prefix: as<string>('prefix'),
  state: as<Range['state']>('state'),
  since: as<Date>('since'),
  until: as<Date | null>('until'),
  reasons: as<Reason[]>('reasons'),
  probes: as<number>('cardinality(probes)'),
  probesApproved: as<number>('probes_approved'),
});
export type ListedRange = RowOf<typeof LISTED>;

/** Lists the ranges of an account that are or were paused, or that a person has decided about; the newest first. */
export const listRanges = (db: Db, { accountId }: { accountId: number }): Promise<ListedRange[]> =>
  many(
    db,
    sql`SELECT ${LISTED} FROM verify_range WHERE account_id = ${accountId} ORDER BY since DESC, prefix LIMIT 1000`,
  );

/**
 * Releases or blocks a range for good, whether or not it was paused. Call it in a transaction.
 */
export async function decideRange(
  tx: Db,
  actor: Author,
  { prefix, state }: { prefix: string; state: 'RELEASED' | 'BLOCKED' },
): Promise<ListedRange> {
  const { accountId } = actor;
  const range = await maybeOne(
    tx,
    sql`INSERT INTO verify_range (account_id, prefix, state) VALUES (${accountId}, ${prefix}, ${state})
        ON CONFLICT (account_id, prefix) DO UPDATE SET state = ${state}, since = now(), until = NULL, level = 0
        RETURNING ${LISTED}`,
  );
  if (!range) throw new Error('a range was not stored');
  await recordAudit(tx, actor, { action: `verify.range-${state.toLowerCase()}`, subject: `verify-range:${prefix}` });
  return range;
}

const CONCERN = columns({
  kind: as<'verify_range_paused' | 'verify_cost_cap'>('c.kind'),
  subject: as<string>('a.name'),
  subjectId: as<number>('a.id'),
  count: as<number>('c.count'),
  since: as<Date>('c.since'),
});

/** Lists the accounts with paused ranges, and those that a cost cap has stopped within the last hour. */
export const listGuardConcerns = (db: Db): Promise<RowOf<typeof CONCERN>[]> =>
  many(
    db,
    sql`SELECT ${CONCERN}
        FROM (SELECT account_id, 'verify_range_paused' AS kind, count(*) AS count, min(since) AS since
              FROM verify_range WHERE state = 'PAUSED' AND until > now() GROUP BY account_id
              UNION ALL
              SELECT account_id, 'verify_cost_cap', count(*), min(${timeOf(sql`id`)})
              FROM verify_decision
              WHERE outcome <> 'ALLOW' AND rule = 'cost_cap' AND id >= ${firstIdAt(new Date(Date.now() - HOUR_MS))}
              GROUP BY account_id) AS c
        JOIN account a ON a.id = c.account_id AND a.status = 'active'
        ORDER BY a.id, c.kind LIMIT 100`,
  );
