import { GATEWAY_ACCOUNT_ID, operatorAuthor, recordAudit } from '../../../../identity/audit/record.ts';
import { isEmail } from '../../../../identity/mail-text.ts';
import { findUrlFault } from '../../../../messaging/webhooks/check-url.ts';
import { makeSecret } from '../../../../messaging/webhooks/sign.ts';
import type { Db } from '../../../../platform/db/query.ts';
import { AppError, invalidFields } from '../../../../platform/errors.ts';
import { isTimeZone } from '../../../../platform/lib/local-time.ts';
import type { SecretKey } from '../../../../platform/lib/secret-box.ts';
import type { Guard } from '../../../../platform/outbound/guard.ts';
import { sealHook } from './seal.ts';
import * as db from './sql.ts';

/** Maximum number of recipients: a mail server and receivers of webhooks bear only so many. */
const MAX_TARGETS = 20;

export type NewTarget = db.TargetChoice & {
  readonly kind: db.TargetKind;
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
  const row = await db.insertTarget(tx, { kind, address, sealed, ...choice });
  if (!row) throw new Error('an insert returns its id');
  await record(tx, { by, action: 'alert-target.add', subject: named(kind, address) });
  return { id: row.id, secret };
}

async function check(guard: Guard, kind: db.TargetKind, address: string): Promise<void> {
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

async function checkRoom(tx: Db, kind: db.TargetKind): Promise<void> {
  const targets = await db.listTargets(tx);
  if (targets.length >= MAX_TARGETS)
    throw new AppError('conflict', { message: `There are ${MAX_TARGETS} recipients already` });
  if (kind === 'owners' && targets.some((target) => target.kind === 'owners'))
    throw new AppError('conflict', { message: 'The administrators of accounts are already notified' });
}

/** Changes the content and times of a recipient's notices. Call it in a transaction. Errors: 400, 404. */
export async function changeTarget(
  tx: Db,
  { id, by, ...choice }: db.TargetChoice & { readonly id: number; readonly by: string },
): Promise<void> {
  checkZone(choice.timeZone);
  const found = await db.findTarget(tx, { id });
  if (!found || (await db.updateTarget(tx, { id, ...choice })) === 0) throw noTarget();
  await record(tx, { by, action: 'alert-target.change', subject: named(found.kind, found.address) });
}

/** Removes a recipient with its unsent notices. Call it in a transaction. Errors: 404. */
export async function removeTarget(tx: Db, { id, by }: { readonly id: number; readonly by: string }): Promise<void> {
  const removed = await db.deleteTarget(tx, { id });
  if (!removed) throw noTarget();
  await record(tx, { by, action: 'alert-target.remove', subject: named(removed.kind, removed.address) });
}

/** The error for a recipient that does not exist. */
export const noTarget = (): AppError => new AppError('not_found', { message: 'There is no such recipient' });

const named = (kind: db.TargetKind, address: string): string => `alert-target:${address === '' ? kind : address}`;

const record = (tx: Db, { by, ...event }: { by: string; action: string; subject: string }): Promise<void> =>
  recordAudit(tx, operatorAuthor(GATEWAY_ACCOUNT_ID, by), event);
