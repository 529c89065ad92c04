const MAIL = /^[^\s@]{1,64}@[^\s@.]+(?:\.[^\s@.]+)+$/;
const NUMBER = /^\+[1-9]\d{6,14}$/;

/** Where a copy of an inbound message goes. */
export type TargetKind = 'post' | 'mail' | 'sms';

/** Returns what a target is; one that is stored is always one of these. */
export function kindOfTarget(target: string): TargetKind {
  if (NUMBER.test(target)) return 'sms';
  return MAIL.test(target) && !target.startsWith('https:') ? 'mail' : 'post';
}
