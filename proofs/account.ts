import { type Ledger, takenByDestination } from './carrier.ts';
import type { Doubt, StatusRecord } from './messages.ts';

export const hasEnded = ({ deliveryStatus }: StatusRecord): boolean => deliveryStatus !== 'ACCEPTED';

type Evidence = {
  readonly ids: readonly string[];
  readonly records: readonly StatusRecord[];
  readonly doubts: readonly Doubt[];
  /** Unknown at any time. */
  readonly inDoubt: ReadonlySet<string>;
  readonly ledger: Ledger;
};

/** The gateway's account of messages that are all meant to be delivered against the carrier's. */
export function compare({ ids, records, doubts, inDoubt, ledger }: Evidence) {
  const taken = takenByDestination(ledger);
  const delivered = records.filter(({ deliveryStatus }) => deliveryStatus === 'DELIVERED');
  const unknown = records.filter(({ deliveryStatus }) => deliveryStatus === 'UNKNOWN');
  const reasons = new Map(doubts.map(({ messageId, reason }) => [messageId, reason]));
  const kept = delivered.filter(({ destination }) => taken.has(destination)).length;
  return {
    messages: ids.length,
    delivered: delivered.length,
    lost: ids.length - kept - unknown.length,
    duplicates: [...taken.values()].filter((parts) => parts.length > (parts[0]?.concat?.total ?? 1)).length,
    unknown: unknown.length,
    unknownTakenByCarrier: unknown.filter(({ destination }) => taken.has(destination)).length,
    inDoubt: inDoubt.size,
    settled: inDoubt.size - unknown.length,
    notListed: unknown.filter(({ messageId }) => !reasons.get(messageId)).length,
    listedInVain: doubts.length - unknown.filter(({ messageId }) => reasons.has(messageId)).length,
  };
}
