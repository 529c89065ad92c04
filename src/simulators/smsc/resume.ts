import { EMPTY_MESSAGE } from '../../carriers/smpp/pdu.ts';
import { outcomeFor, type SandboxScript } from './script.ts';
import { ENROUTE, type StoredMessage } from './stored.ts';

/** A message that an earlier simulator accepted and for which it still owes receipts. */
export type OwedMessage = {
  readonly systemId: string;
  /** The message id as spelled in the response. */
  readonly id: string;
  readonly source: string;
  /** Digits without a plus sign. */
  readonly destination: string;
  readonly acceptedAt: Date;
};

/**
 * Returns the message as this simulator would have stored it, but without its text, which its receipts do not quote.
 */
export function owedMessage(
  { systemId, id, source, destination, acceptedAt }: OwedMessage,
  script: SandboxScript,
): StoredMessage {
  return {
    systemId,
    // Without a number, so that the receipt spells the id like the response.
    id: { text: id, number: 0 },
    message: { ...EMPTY_MESSAGE, source, destination, registeredDelivery: 1 },
    outcome: outcomeFor(script, destination),
    acceptedAt: acceptedAt.getTime(),
    current: ENROUTE,
    doneAt: acceptedAt.getTime(),
  };
}
