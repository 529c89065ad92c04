import type { CarrierHost } from '../carrier.ts';
import { isReceipt, readReceipt } from './receipts.ts';
import type { Delivery } from './session.ts';
import type { SmppSettings } from './settings.ts';
import { STATUS } from './status.ts';
import { concatOf, textOf, userData } from './text.ts';

/** More than this many at the host, and the carrier is asked to come back later: its queue is on disk, ours is not. */
const MOST_AT_HOST = 10_000;
const NO_OCTETS = new Uint8Array(0);

/** Is given the command_status for the carrier. */
type Answer = (status: number) => void;

export type Deliveries = {
  /** Gives a delivery to the host; answers, once it is committed there, with the command_status for the carrier. */
  take(delivery: Delivery, answer: Answer): void;
  /** From here on everything is refused for now, so that the carrier keeps it. */
  stop(): void;
};

/** Receipts and inbound messages on their way to the host (protocol sheet smpp, sections 9, 10 and 12). */
export function createDeliveries(settings: SmppSettings, host: CarrierHost): Deliveries {
  let atHost = 0;
  let stopping = false;
  /** The last promise that the host gave, and the answers that wait for it. */
  let last: { readonly stored: Promise<void>; readonly answers: Answer[] } | null = null;

  function take(delivery: Delivery, answer: Answer): void {
    if (stopping || atHost >= MOST_AT_HOST) return answer(STATUS.ESME_RX_T_APPN);
    atHost += 1;
    try {
      untilStored(give(delivery), answer);
    } catch (error) {
      refuse(error, answer);
    }
  }

  /**
   * Deliveries that the host stores together have one promise, and so one reaction. The deliveries themselves are not
   * kept: many wait here, and each would hold on to the octets that it was read from.
   */
  function untilStored(stored: Promise<void>, answer: Answer): void {
    if (last?.stored === stored) return void last.answers.push(answer);
    const answers = [answer];
    const group = { stored, answers };
    last = group;
    const endAll = (endOne: (answer: Answer) => void): void => {
      if (last === group) last = null;
      answers.forEach(endOne);
    };
    void stored.then(
      () => endAll((one) => end(STATUS.ESME_ROK, one)),
      (error: unknown) => endAll((one) => refuse(error, one)),
    );
  }

  function refuse(error: unknown, answer: Answer): void {
    host.log('warn', 'A delivery was not stored and will come again', { reason: String(error) });
    end(STATUS.ESME_RX_T_APPN, answer);
  }

  function end(status: number, answer: Answer): void {
    atHost -= 1;
    answer(status);
  }

  function give(delivery: Delivery): Promise<void> {
    const message = delivery.command === 'deliver_sm' ? delivery : { ...delivery, shortMessage: NO_OCTETS };
    if (!isReceipt(message, settings.dlrWithoutEsmClass)) {
      return host.inbound({
        source: message.source,
        destination: message.destination,
        text: textOf(message, settings.defaultAlphabet),
        concat: concatOf(message),
        raw: Uint8Array.from(userData(message)),
      });
    }
    const receipt = readReceipt(message, settings);
    if (receipt) return host.receipt(receipt);
    host.log('warn', 'A receipt without an id was dropped', { octets: Buffer.from(userData(message)).toString('hex') });
    return Promise.resolve();
  }

  return {
    take,
    stop: () => {
      stopping = true;
    },
  };
}
