import type { Message } from '../smpp/pdu.ts';
import { NO_TLVS } from '../smpp/tlv.ts';
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
    message: submitOf(source, destination),
    outcome: outcomeFor(script, destination),
    acceptedAt: acceptedAt.getTime(),
    current: ENROUTE,
    doneAt: acceptedAt.getTime(),
  };
}

const submitOf = (source: string, destination: string): Message => ({
  serviceType: '',
  sourceTon: 0,
  sourceNpi: 0,
  source,
  destTon: 1,
  destNpi: 1,
  destination,
  esmClass: 0,
  protocolId: 0,
  priority: 0,
  scheduleTime: '',
  validity: '',
  registeredDelivery: 1,
  replaceIfPresent: 0,
  dataCoding: 0,
  defaultMessageId: 0,
  shortMessage: new Uint8Array(0),
  tlvs: NO_TLVS,
});
