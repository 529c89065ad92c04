import { type Ledger, takenByDestination } from './carrier.ts';
import type { StatusRecord, UnknownOutcome } from './messages.ts';

export const hasEnded = ({ deliveryStatus }: StatusRecord): boolean => deliveryStatus !== 'ACCEPTED';

type Evidence = {
  readonly ids: readonly string[];
  readonly records: readonly StatusRecord[];
  readonly unknownOutcomes: readonly UnknownOutcome[];
  /** The ids of messages whose outcome was unknown at any time. */
  readonly everUnknown: ReadonlySet<string>;
  readonly ledger: Ledger;
};

/** Compares what the gateway says of messages that are all meant to be delivered with the carrier's ledger. */
export function compare({ ids, records, unknownOutcomes, everUnknown, ledger }: Evidence) {
  const taken = takenByDestination(ledger);
  const delivered = records.filter(({ deliveryStatus }) => deliveryStatus === 'DELIVERED');
  const unknown = records.filter(({ deliveryStatus }) => deliveryStatus === 'UNKNOWN');
  const reasons = new Map(unknownOutcomes.map(({ messageId, reason }) => [messageId, reason]));
  const deliveredAndTaken = delivered.filter(({ destination }) => taken.has(destination)).length;
  return {
    messages: ids.length,
    delivered: delivered.length,
    lost: ids.length - deliveredAndTaken - unknown.length,
    duplicates: [...taken.values()].filter((parts) => parts.length > (parts[0]?.concat?.total ?? 1)).length,
    unknown: unknown.length,
    unknownTakenByCarrier: unknown.filter(({ destination }) => taken.has(destination)).length,
    inDoubt: everUnknown.size,
    settled: everUnknown.size - unknown.length,
    notListed: unknown.filter(({ messageId }) => !reasons.get(messageId)).length,
    listedInVain: unknownOutcomes.length - unknown.filter(({ messageId }) => reasons.has(messageId)).length,
  };
}
