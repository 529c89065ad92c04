import { AppError } from '../core/errors.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../core/time.ts';
import type { Counts, Kind } from './guard.ts';
import type { NumberUse } from './store.ts';

/** Wait after each send of a code, in seconds; the last one also after all later ones. */
const RESEND_SECONDS = [30, 60, 120, 300];

/** Returns when a code may be sent again after this many sends. */
export const resendAt = (sends: number, at: Date): Date =>
  new Date(at.getTime() + (RESEND_SECONDS[Math.min(sends, RESEND_SECONDS.length) - 1] ?? 300) * SECOND_MS);

/** Sends to a number, over all services, resends and addresses. */
const SENDS = [
  { most: 5, ms: 10 * MINUTE_MS },
  { most: 10, ms: DAY_MS },
];
/** Wrong codes for a number, over all verifications, resends and addresses, and how long they lock it. */
const WRONG = [
  { most: 20, ms: DAY_MS, lockMs: DAY_MS },
  { most: 10, ms: HOUR_MS, lockMs: HOUR_MS },
];
/** Sends of an hour by client. */
const PER_HOUR = { address: 30, user: 10 } as const satisfies Partial<Record<Kind, number>>;

const within = (times: readonly Date[], ms: number, now: Date): Date[] =>
  times.filter((at) => at.getTime() > now.getTime() - ms);

const secondsUntil = (at: number, now: Date): number => Math.max(1, Math.ceil((at - now.getTime()) / SECOND_MS));

/** Throws 429 while a number is locked because of wrong codes. */
export function refuseLocked({ lockedUntil }: Pick<NumberUse, 'lockedUntil'>, now: Date): void {
  if (lockedUntil !== null && lockedUntil > now)
    throw new AppError('number_locked', { retryAfterSeconds: secondsUntil(lockedUntil.getTime(), now) });
}

/** Throws 429 before the time at which a code may be sent again. */
export function refuseTooSoon(at: Date | null, now: Date): void {
  if (at !== null && at > now)
    throw new AppError('resend_too_soon', { retryAfterSeconds: secondsUntil(at.getTime(), now) });
}

const tooMany = (whose: string, retryAfterSeconds: number): AppError =>
  new AppError('too_many_codes', { message: `Too many codes for this ${whose}`, retryAfterSeconds });

/** Throws 429 if the number has had as many codes as it may have. */
export function refuseManySends({ sent }: NumberUse, now: Date): void {
  for (const { most, ms } of SENDS) {
    const recent = within(sent, ms, now);
    const oldest = recent.at(-most);
    if (oldest !== undefined) throw tooMany('number', secondsUntil(oldest.getTime() + ms, now));
  }
}

/** Throws 429 if a client, or the service by its own setting, has had as many codes within the hour as it may have. */
export function refuseManyOf(of: (kind: Kind) => Counts | undefined, maxPerHour: number | undefined): void {
  const limits = { ...PER_HOUR, ...(maxPerHour !== undefined && { service: maxPerHour }) };
  for (const [kind, most] of Object.entries(limits))
    if ((of(kind as Kind)?.hour ?? 0) >= most) throw tooMany(kind, 15 * 60);
}

/** Returns the use of a number with another send. */
export const withSend = (use: NumberUse, now: Date): NumberUse => ({
  ...use,
  sent: [...within(use.sent, DAY_MS, now), now],
});

/** Returns the use of a number with another wrong code, which may lock it. */
export function withWrong(use: NumberUse, now: Date): NumberUse {
  const wrong = [...within(use.wrong, DAY_MS, now), now];
  const lock = WRONG.find(({ most, ms }) => within(wrong, ms, now).length >= most);
  return { ...use, wrong, lockedUntil: lock ? new Date(now.getTime() + lock.lockMs) : use.lockedUntil };
}
