import type { Policy } from '../policies/sql.ts';

/**
 * Standing of a connection in a country: `good`: at the floor of its policy or above it; `below`; or on `trial`,
 * because there are too few samples.
 */
export type Standing = 'good' | 'trial' | 'below';

/** Totals of samples: their number, the number delivered, and the sum of the times to their receipts. */
export type Quality = { readonly messages: number; readonly delivered: number; readonly receiptMs: number };

/**
 * Margin above the floor that is needed to rise above it again, in thousandths: three points, or half of the way to 100
 * %.
 */
const MARGIN = 30;
/** Factor of the floor's time that receipts must stay within to rise above it again. */
const FASTER = 0.9;

/** Returns the share of messages that was delivered, from 0 to 1; null without messages. */
export const deliveredShare = ({ messages, delivered }: Quality): number | null =>
  messages === 0 ? null : delivered / messages;

/** Returns how many seconds receipts took on average; null without any. */
export const receiptSeconds = ({ delivered, receiptMs }: Quality): number | null =>
  delivered === 0 ? null : receiptMs / delivered / 1000;

/**
 * Returns the next standing of a connection. It falls below the floor as soon as it is under it, and rises only when it
 * is clearly above: a connection at the floor does not change with every sample.
 */
export function nextStanding(before: Standing, quality: Quality, policy: Policy): Standing {
  if (quality.messages < policy.minSamples) return 'trial';
  const rises = before === 'below';
  const least = rises ? policy.minDelivered + Math.min(MARGIN, (1000 - policy.minDelivered) / 2) : policy.minDelivered;
  const most = (policy.maxReceiptSeconds ?? Number.POSITIVE_INFINITY) * (rises ? FASTER : 1);
  // Compared as whole numbers: as a share, 80 % and 3 % are a little more than 83 %.
  const delivers = quality.delivered * 1000 >= least * quality.messages;
  return delivers && (receiptSeconds(quality) ?? 0) <= most ? 'good' : 'below';
}
