import { EMPTY_MESSAGE } from '../../carriers/smpp/pdu.ts';
import { outcomeFor, type SandboxScript } from './script.ts';
import { ENROUTE, type StoredMessage } from './stored.ts';

/** A message that a sandbox before this one took, and for which it still owes receipts. */
export type OwedMessage = {
  readonly systemId: string;
  /** As the response spelled it. */
  readonly id: string;
  readonly source: string;
  /** Digits without a plus. */
  readonly destination: string;
  readonly acceptedAt: Date;
};

/** The message as this sandbox would have kept it, but for its text, which is not quoted in its receipts. */
export function owedMessage(
  { systemId, id, source, destination, acceptedAt }: OwedMessage,
  script: SandboxScript,
): StoredMessage {
  return {
    systemId,
    // Without its number, so that the receipt spells the id as the response did.
    id: { text: id, number: 0 },
    message: { ...EMPTY_MESSAGE, source, destination, registeredDelivery: 1 },
    outcome: outcomeFor(script, destination),
    acceptedAt: acceptedAt.getTime(),
    current: ENROUTE,
    doneAt: acceptedAt.getTime(),
  };
}
