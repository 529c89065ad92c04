import type { Pool } from 'pg';
import type { Db } from '../core/db/query.ts';
import { tenantTransaction } from '../core/db/transaction.ts';
import { AppError, invalidFields } from '../core/errors.ts';
import { timeOfId } from '../core/ids.ts';
import { maskNumber, parsePhone, personOf } from '../core/phone.ts';
import type { SecretKey } from '../core/secrets.ts';
import { type Clock, SECOND_MS } from '../core/time.ts';
import { deleteFallbacks } from '../messages/fallback-store.ts';
import { publishFacts } from '../webhooks/outbox.ts';
import { addToCounters } from './counters.ts';
import { keysOf, type Reason } from './guard.ts';
import { refuseLocked, withWrong } from './limits.ts';
import type { VerifyMeter } from './metrics.ts';
import { approveProbe } from './ranges.ts';
import { isCode } from './secrets.ts';
import * as db from './store.ts';
import type { State, Verification } from './store.ts';

type Deps = {
  readonly pool: Pool;
  readonly secretKey: SecretKey;
  readonly clock: Clock;
  readonly meter?: VerifyMeter;
};
type Account = { readonly accountId: number };

type EventType = 'created' | 'sent' | 'approved' | 'failed' | 'expired' | 'blocked';

/** Publishes events of a verification, in the transaction that makes them true. */
export const publish = (
  tx: Db,
  v: Verification,
  types: readonly `verification.${EventType}`[],
  reasons: readonly Reason[] = [],
): Promise<void> =>
  publishFacts(
    tx,
    types.map((type) => ({
      accountId: v.accountId,
      type,
      about: v.id,
      data: {
        verificationId: v.id,
        serviceId: v.serviceId,
        to: maskNumber(v.number),
        country: v.country,
        channel: v.channel,
        status: v.status,
        sends: v.sends,
        checks: v.checks,
        customerReference: v.customerReference,
        reasons: reasons.map((reason) => ({ ...reason })),
      },
    })),
  );

const EVENT_OF: Readonly<Record<Exclude<State, 'PENDING'>, EventType | null>> = {
  APPROVED: 'approved',
  EXPIRED: 'expired',
  MAX_CHECKS: 'failed',
  UNDELIVERED: 'failed',
  CANCELED: null,
  BLOCKED: 'blocked',
};

/**
 * Ends an open verification: its code is deleted, nothing follows on another channel, and the event is published. Returns
 * false if it had ended. Call it in a transaction that has locked the number.
 */
export async function endVerification(
  tx: Db,
  v: Verification,
  status: Exclude<State, 'PENDING'>,
  at: Date,
): Promise<boolean> {
  const [isMoved, ids] = await Promise.all([db.moveToEnd(tx, { ...v, status, at }), db.listMessageIds(tx, v)]);
  if (!isMoved) return false;
  const event = EVENT_OF[status];
  await Promise.all([
    deleteFallbacks(
      tx,
      ids.map((id) => ({ accountId: v.accountId, id })),
    ),
    event !== null && publish(tx, { ...v, status }, [`verification.${event}`]),
  ]);
  return true;
}

/** A check of a code: for a verification, or for the open one of a number. */
export type Check = { readonly code: string } & (
  | { readonly id: string }
  | { readonly serviceId: string; readonly to: string }
);

/** The answer to a check. */
export type Checked = {
  readonly id: string;
  readonly status: State;
  readonly valid: boolean;
  readonly checksLeft: number;
};

/**
 * Checks a code. The right one is approved once. A wrong one counts for the verification, and for the number over all its
 * verifications, which locks it in the end. What is unknown takes the same statements and the same comparison.
 *
 * Errors: 404 without such a verification, 409 if it was approved already, 429 while the number is locked.
 */
export async function checkCode(deps: Deps, actor: Account, check: Check): Promise<Checked> {
  const { accountId } = actor;
  const key = 'id' in check ? { id: check.id } : { serviceId: check.serviceId, person: personOfText(check.to) };
  const checked = await tenantTransaction(deps.pool, actor, async (tx) => {
    const number = db.lockNumberOf(tx, { accountId, ...key });
    const id = 'id' in check ? check.id : ((await number)?.id ?? check.serviceId);
    // Sent together: both locks are taken in this order.
    const [use, found, maxChecks = DEFAULT_MAX_CHECKS] = await Promise.all([
      number,
      db.lockVerification(tx, { accountId, id }),
      db.findMaxChecks(tx, { accountId, id }),
    ]);
    const isRight = isCode(deps.secretKey, id, check.code, found?.codeHash);
    if (!use || !found) throw new AppError('no_open_verification');
    if (found.status === 'APPROVED') throw new AppError('already_used');
    if (found.status !== 'PENDING') return { id, status: found.status, valid: false, checksLeft: 0 };
    return checkOpen(tx, found, { use, isRight, maxChecks, now: deps.clock.now() });
  });
  if (checked.valid) deps.meter?.approved((deps.clock.now().getTime() - timeOfId(checked.id).getTime()) / SECOND_MS);
  return checked;
}

type Shown = {
  readonly use: db.NumberUse & { readonly person: string };
  readonly isRight: boolean;
  readonly maxChecks: number;
  readonly now: Date;
};

async function checkOpen(tx: Db, v: Verification, { use, isRight, maxChecks, now }: Shown): Promise<Checked> {
  const { accountId, id } = v;
  const ended = (status: State, valid = false): Checked => ({ id, status, valid, checksLeft: 0 });
  if (v.expiresAt <= now) {
    await endVerification(tx, v, 'EXPIRED', now);
    return ended('EXPIRED');
  }
  refuseLocked(use, now);
  if (isRight && !v.hidden) {
    await approve(tx, v, now);
    return ended('APPROVED', true);
  }
  const checks = v.checks + 1;
  await db.updateChecks(tx, { accountId, id, checks });
  await db.updateNumber(tx, { accountId, person: use.person }, withWrong(use, now));
  if (checks < maxChecks) return { id, status: 'PENDING', valid: false, checksLeft: maxChecks - checks };
  await endVerification(tx, { ...v, checks }, 'MAX_CHECKS', now);
  return ended('MAX_CHECKS');
}

const DEFAULT_MAX_CHECKS = 5;

function personOfText(to: string): string {
  const phone = parsePhone(to);
  if (!phone) throw invalidFields([{ field: 'to', message: 'is not a phone number with its country code' }]);
  return personOf(phone.e164);
}

/** Approves an open verification, which counts as a conversion of the time at which it was created. */
async function approve(tx: Db, v: Verification, now: Date): Promise<void> {
  await endVerification(tx, v, 'APPROVED', now);
  if (v.probeOf !== null) await approveProbe(tx, { accountId: v.accountId, prefix: v.probeOf, at: now });
  await addToCounters(tx, [{ accountId: v.accountId, keys: keysOf(v), at: v.createdAt, approved: 1 }]);
}

/** Cancels an open verification: its code is not accepted any more. Errors: 404, 409 if it has ended. */
export const cancelVerification = ({ pool, clock }: Deps, actor: Account, id: string): Promise<void> =>
  tenantTransaction(pool, actor, async (tx) => {
    const { accountId } = actor;
    await db.lockNumberOf(tx, { accountId, id });
    const found = await db.lockVerification(tx, { accountId, id });
    if (!found) throw new AppError('not_found');
    if (!(await endVerification(tx, found, 'CANCELED', clock.now())))
      throw new AppError('conflict', { message: `The verification is ${found.status}` });
  });

/**
 * Records what became of a verification that the client checks itself. `converted` counts as an approval, so that the
 * guard learns from it. Errors: 404, 409 when it was recorded already.
 */
export async function recordFeedback(
  tx: Db,
  { accountId }: Account,
  { id, outcome, at }: { readonly id: string; readonly outcome: 'converted' | 'fraud'; readonly at: Date },
): Promise<void> {
  await db.lockNumberOf(tx, { accountId, id });
  const found = await db.lockVerification(tx, { accountId, id });
  if (!found) throw new AppError('not_found');
  if ((await db.updateFeedback(tx, { accountId, id, outcome })) === 0)
    throw new AppError('conflict', { message: 'The outcome was recorded already' });
  if (outcome === 'fraud' || found.status === 'APPROVED') return;
  if (found.status === 'PENDING') return approve(tx, found, at);
  if (found.probeOf !== null) await approveProbe(tx, { accountId, prefix: found.probeOf, at });
  await addToCounters(tx, [{ accountId, keys: keysOf(found), at: found.createdAt, approved: 1 }]);
}
