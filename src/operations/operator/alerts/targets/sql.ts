import { type Db, exec, many, maybeOne, sql } from '../../../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../../../platform/db/select.ts';
import type { Language } from '../../../../identity/mail-text.ts';
import type { Severity } from '../../attention/sql.ts';

export const TARGET_KINDS = ['mail', 'webhook', 'owners'] as const;
export type TargetKind = (typeof TARGET_KINDS)[number];

const TARGET = columns({
  id: as<number>('t.id'),
  kind: as<TargetKind>('t.kind'),
  /** The email address; the origin of a webhook; empty for owners. */
  address: as<string>('t.address'),
  /** URL and secret of a webhook, sealed. */
  sealed: as<Buffer | null>('t.sealed'),
  severity: as<Severity>('t.severity'),
  language: as<Language>('t.language'),
  /** Minutes of the day, in `timeZone`; both null: it is never quiet. */
  quietFrom: as<number | null>('t.quiet_from'),
  quietTo: as<number | null>('t.quiet_to'),
  timeZone: as<string>('t.time_zone'),
  breaksQuiet: as<boolean>('t.breaks_quiet'),
  attempts: as<number>('t.attempts'),
  failingSince: as<Date | null>('t.failing_since'),
  lastError: as<string | null>('t.last_error'),
  waiting: as<number>('(SELECT count(*) FROM alert_notice n WHERE n.target_id = t.id)'),
  createdAt: as<Date>('t.created_at'),
});
export type Target = RowOf<typeof TARGET>;

/** Lists the recipients of alerts, oldest first. */
export const listTargets = (db: Db): Promise<Target[]> =>
  many(db, sql`SELECT ${TARGET} FROM alert_target t ORDER BY t.id`);

export const findTarget = (db: Db, { id }: { id: number }): Promise<Target | undefined> =>
  maybeOne(db, sql`SELECT ${TARGET} FROM alert_target t WHERE t.id = ${id}`);

/** Settings of a recipient that operators choose. */
export type TargetChoice = Pick<Target, 'severity' | 'language' | 'quietFrom' | 'quietTo' | 'timeZone' | 'breaksQuiet'>;
type NewTarget = TargetChoice & Pick<Target, 'kind' | 'address' | 'sealed'>;

export async function insertTarget(tx: Db, target: NewTarget): Promise<{ id: number } | undefined> {
  return maybeOne(
    tx,
    sql`INSERT INTO alert_target (kind, address, sealed, severity, language, quiet_from, quiet_to, time_zone, breaks_quiet)
        VALUES (${target.kind}, ${target.address}, ${target.sealed}, ${target.severity}, ${target.language},
                ${target.quietFrom}, ${target.quietTo}, ${target.timeZone}, ${target.breaksQuiet})
        RETURNING id`,
  );
}

/** Changes the settings of a recipient; returns 0 when there is none. Waiting notices become due immediately. */
export const updateTarget = (tx: Db, { id, ...target }: TargetChoice & { id: number }): Promise<number> =>
  exec(
    tx,
    sql`UPDATE alert_target SET severity = ${target.severity}, language = ${target.language},
          quiet_from = ${target.quietFrom}, quiet_to = ${target.quietTo}, time_zone = ${target.timeZone},
          breaks_quiet = ${target.breaksQuiet}, due_at = now()
        WHERE id = ${id}`,
  );

/** Deletes a recipient with its unsent notices; undefined when there is none. */
export const deleteTarget = (
  tx: Db,
  { id }: { id: number },
): Promise<{ kind: TargetKind; address: string } | undefined> =>
  maybeOne(tx, sql`DELETE FROM alert_target WHERE id = ${id} RETURNING kind, address`);

const DUE = columns({
  /** True if its waiting notices include a problem. */
  urgent: as<boolean>(`EXISTS (SELECT FROM alert_notice n JOIN alert a ON a.id = n.alert_id
                               WHERE n.target_id = t.id AND a.told_severity = 'error')`),
});
export type DueTarget = Target & RowOf<typeof DUE>;

/** Locks the recipients that have notices due now, until the transaction ends; others skip them. */
export const lockDueTargets = (tx: Db): Promise<DueTarget[]> =>
  many<DueTarget>(
    tx,
    sql`SELECT ${TARGET}, ${DUE} FROM alert_target t
        WHERE t.due_at <= now() AND EXISTS (SELECT FROM alert_notice n WHERE n.target_id = t.id)
        ORDER BY t.due_at, t.id FOR UPDATE OF t SKIP LOCKED`,
  );

/** Leases a recipient for `leaseMs`: no other process notifies it. */
export const updateTried = (tx: Db, { id, leaseMs }: { id: number; leaseMs: number }): Promise<number> =>
  exec(
    tx,
    sql`UPDATE alert_target SET attempts = attempts + 1, due_at = now() + ${leaseMs} * interval '1 millisecond'
        WHERE id = ${id}`,
  );

/** Marks a recipient as notified; the next notice follows after `pauseMs` at the earliest. */
export const updateTold = (tx: Db, { id, pauseMs }: { id: number; pauseMs: number }): Promise<number> =>
  exec(
    tx,
    sql`UPDATE alert_target SET attempts = 0, failing_since = NULL, last_error = NULL,
          due_at = now() + ${pauseMs} * interval '1 millisecond'
        WHERE id = ${id}`,
  );

/** Records why a recipient could not be notified; it is tried again after `delayMs`. */
export const updateFailed = (
  tx: Db,
  { id, delayMs, error }: { id: number; delayMs: number; error: string },
): Promise<number> =>
  exec(
    tx,
    sql`UPDATE alert_target SET failing_since = coalesce(failing_since, now()), last_error = ${error},
          due_at = now() + ${delayMs} * interval '1 millisecond'
        WHERE id = ${id}`,
  );
