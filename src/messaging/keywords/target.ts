const MAIL = /^[^\s@]{1,64}@[^\s@.]+(?:\.[^\s@.]+)+$/;
const NUMBER = /^\+[1-9]\d{6,14}$/;

/** Kind of target for copies of inbound messages. */
export type TargetKind = 'post' | 'mail' | 'sms';

/** Returns the kind of a target; a stored one always has one of these. */
export function kindOfTarget(target: string): TargetKind {
  if (NUMBER.test(target)) return 'sms';
  return MAIL.test(target) && !target.startsWith('https:') ? 'mail' : 'post';
}
