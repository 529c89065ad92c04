import { GATEWAY_ACCOUNT_ID, operatorAuthor, recordAudit } from '../accounts/audit.ts';
import { as, columns, type Db, exec, many, maybeOne, type RowOf, sql } from '../core/db/query.ts';
import { AppError, invalidFields } from '../core/errors.ts';
import { isEmail, type Language } from '../core/mail.ts';
import type { Guard } from '../core/outbound.ts';
import { open, type SecretKey, seal } from '../core/secrets.ts';
import { isTimeZone, localTimeOf } from '../core/time.ts';
import { findUrlFault } from '../webhooks/urls.ts';
import { makeSecret } from '../webhooks/send.ts';
import type { Severity } from './attention.ts';

/** Maximum number of recipients: a mail server and receivers of webhooks bear only so many. */
export const MAX_TARGETS = 20;

type NewTarget = TargetChoice & {
  readonly kind: TargetKind;
  /** The email address, or the URL of the webhook; empty for owners. */
  readonly address: string;
  readonly by: string;
};

type Outside = { readonly secretKey: SecretKey; readonly guard: Guard };

/**
 * Adds a recipient of alerts. Call it in a transaction. Returns the secret that signs the messages to a webhook, which is
 * shown only now; null for the others. Errors: 400 naming the field, 409 when there are too many, or owners a second time.
 */
export async function addTarget(
  tx: Db,
  { secretKey, guard }: Outside,
  { kind, address: given, by, ...choice }: NewTarget,
): Promise<{ id: number; secret: string | null }> {
  await check(guard, kind, given);
  checkZone(choice.timeZone);
  await checkRoom(tx, kind);
  const secret = kind === 'webhook' ? makeSecret() : null;
  const address = kind === 'webhook' ? new URL(given).origin : given.toLowerCase();
  const sealed = secret === null ? null : sealHook(secretKey, { url: given, secret });
  const row = await insertTarget(tx, { kind, address, sealed, ...choice });
  if (!row) throw new Error('an insert returns its id');
  await record(tx, { by, action: 'alert-target.add', subject: named(kind, address) });
  return { id: row.id, secret };
}

async function check(guard: Guard, kind: TargetKind, address: string): Promise<void> {
  const message =
    kind === 'webhook'
      ? await findUrlFault(guard, address)
      : kind === 'mail' && !isEmail(address.toLowerCase())
        ? 'must be an email address'
        : kind === 'owners' && address !== ''
          ? 'must be empty'
          : null;
  if (message !== null) throw invalidFields([{ field: 'address', message }]);
}

function checkZone(timeZone: string): void {
  if (!isTimeZone(timeZone))
    throw invalidFields([{ field: 'timeZone', message: 'must be a time zone, such as Europe/Rome' }]);
}

async function checkRoom(tx: Db, kind: TargetKind): Promise<void> {
  const targets = await listTargets(tx);
  if (targets.length >= MAX_TARGETS)
    throw new AppError('conflict', { message: `There are ${MAX_TARGETS} recipients already` });
  if (kind === 'owners' && targets.some((target) => target.kind === 'owners'))
    throw new AppError('conflict', { message: 'The administrators of accounts are already notified' });
}

/** Changes the content and times of a recipient's notices. Call it in a transaction. Errors: 400, 404. */
export async function changeTarget(
  tx: Db,
  { id, by, ...choice }: TargetChoice & { readonly id: number; readonly by: string },
): Promise<void> {
  checkZone(choice.timeZone);
  const found = await findTarget(tx, { id });
  if (!found || (await updateTarget(tx, { id, ...choice })) === 0) throw noTarget();
  await record(tx, { by, action: 'alert-target.change', subject: named(found.kind, found.address) });
}

/** Removes a recipient with its unsent notices. Call it in a transaction. Errors: 404. */
export async function removeTarget(tx: Db, { id, by }: { readonly id: number; readonly by: string }): Promise<void> {
  const removed = await deleteTarget(tx, { id });
  if (!removed) throw noTarget();
  await record(tx, { by, action: 'alert-target.remove', subject: named(removed.kind, removed.address) });
}

/** The error for a recipient that does not exist. */
export const noTarget = (): AppError => new AppError('not_found', { message: 'There is no such recipient' });

const named = (kind: TargetKind, address: string): string => `alert-target:${address === '' ? kind : address}`;

const record = (tx: Db, { by, ...event }: { by: string; action: string; subject: string }): Promise<void> =>
  recordAudit(tx, operatorAuthor(GATEWAY_ACCOUNT_ID, by), event);

/** Returns true if a recipient is in its quiet hours at this instant. The hours may go over midnight. */
export function isQuiet(
  { quietFrom, quietTo, timeZone }: Pick<Target, 'quietFrom' | 'quietTo' | 'timeZone'>,
  at: Date,
): boolean {
  if (quietFrom === null || quietTo === null) return false;
  const { minute } = localTimeOf(timeZone, at);
  return quietFrom <= quietTo ? minute >= quietFrom && minute < quietTo : minute >= quietFrom || minute < quietTo;
}

/** Writes a minute of the day as `HH:MM`. */
export const clockOf = (minute: number): string =>
  `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}`;

/** Reads `HH:MM` as a minute of the day. */
export function minuteOf(clock: string): number {
  const [hours = 0, minutes = 0] = clock.split(':').map(Number);
  return hours * 60 + minutes;
}

/** The URL of a webhook for alerts, which may contain a token, and the secret that signs its messages. */
type Hook = { readonly url: string; readonly secret: string };

/** The id is not known before the insert, so the seal is bound to its purpose. */
const PLACE = 'alert_target.sealed';

/** Seals the URL and the secret of a webhook for the database. */
const sealHook = (key: SecretKey, hook: Hook): Buffer => seal(key, JSON.stringify(hook), PLACE);

/** Opens them; null when they were sealed with another SECRET_KEY. */
export function openHook(key: SecretKey, sealed: Buffer | null): Hook | null {
  if (sealed === null) return null;
  try {
    return JSON.parse(open(key, sealed, PLACE).toString());
  } catch {
    return null;
  }
}

export const TARGET_KINDS = ['mail', 'webhook', 'owners'] as const;
type TargetKind = (typeof TARGET_KINDS)[number];

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
type TargetRow = TargetChoice & Pick<Target, 'kind' | 'address' | 'sealed'>;

async function insertTarget(tx: Db, target: TargetRow): Promise<{ id: number } | undefined> {
  return maybeOne(
    tx,
    sql`INSERT INTO alert_target (kind, address, sealed, severity, language, quiet_from, quiet_to, time_zone, breaks_quiet)
        VALUES (${target.kind}, ${target.address}, ${target.sealed}, ${target.severity}, ${target.language},
                ${target.quietFrom}, ${target.quietTo}, ${target.timeZone}, ${target.breaksQuiet})
        RETURNING id`,
  );
}

/** Changes the settings of a recipient; returns 0 when there is none. Waiting notices become due immediately. */
const updateTarget = (tx: Db, { id, ...target }: TargetChoice & { id: number }): Promise<number> =>
  exec(
    tx,
    sql`UPDATE alert_target SET severity = ${target.severity}, language = ${target.language},
          quiet_from = ${target.quietFrom}, quiet_to = ${target.quietTo}, time_zone = ${target.timeZone},
          breaks_quiet = ${target.breaksQuiet}, due_at = now()
        WHERE id = ${id}`,
  );

/** Deletes a recipient with its unsent notices; undefined when there is none. */
const deleteTarget = (tx: Db, { id }: { id: number }): Promise<{ kind: TargetKind; address: string } | undefined> =>
  maybeOne(tx, sql`DELETE FROM alert_target WHERE id = ${id} RETURNING kind, address`);

const DUE = columns({
  /** True if its waiting notices include a problem. */
  urgent: as<boolean>(`EXISTS (SELECT FROM alert_notice n JOIN alert a ON a.id = n.alert_id
                               WHERE n.target_id = t.id AND a.told_severity = 'error')`),
});
type DueTarget = Target & RowOf<typeof DUE>;

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
