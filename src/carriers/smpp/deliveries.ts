import type { CarrierHost } from '../carrier.ts';
import { isReceipt, readReceipt } from './receipts.ts';
import type { Delivery } from './session.ts';
import type { SmppSettings } from './settings.ts';
import { STATUS } from './status.ts';
import { concatOf, textOf, userData } from './text.ts';

/**
 * Maximum deliveries waiting at the host; beyond it, the carrier is asked to send further ones later: its queue is on
 * disk, ours is not.
 */
const MAX_AT_HOST = 10_000;
const IA5 = 1;
const NO_OCTETS = new Uint8Array(0);

/** Responds to the carrier with a command_status. */
type Answer = (status: number) => void;

/** The deliveries of one carrier on their way to the host. */
export type Deliveries = {
  /** Passes a delivery to the host, and responds with the command_status once the host has committed it. */
  handle(delivery: Delivery, answer: Answer): void;
  /** Rejects all further deliveries with a temporary error, so that the carrier keeps them. */
  stop(): void;
};

/** Creates the path of receipts and inbound messages to the host (SMPP 3.4, 4.6 and appendix B). */
export function createDeliveries(settings: SmppSettings, host: CarrierHost): Deliveries {
  let atHost = 0;
  let stopping = false;
  /** The last promise that the host returned, and the responses that wait for it. */
  let last: { readonly stored: Promise<void>; readonly answers: Answer[] } | null = null;

  function handle(delivery: Delivery, answer: Answer): void {
    if (stopping || atHost >= MAX_AT_HOST) return answer(STATUS.ESME_RX_T_APPN);
    atHost += 1;
    try {
      answerWhenStored(passToHost(delivery), answer);
    } catch (error) {
      refuse(error, answer);
    }
  }

  /**
   * Responds once the delivery is stored. Deliveries that the host stores together share one promise, and so one
   * reaction. The deliveries themselves are not kept: many wait here, and each would retain the octets that it was read
   * from.
   */
  function answerWhenStored(stored: Promise<void>, answer: Answer): void {
    if (last?.stored === stored) return void last.answers.push(answer);
    const answers = [answer];
    const group = { stored, answers };
    last = group;
    const finishAll = (finishOne: (answer: Answer) => void): void => {
      if (last === group) last = null;
      answers.forEach(finishOne);
    };
    void stored.then(
      () => finishAll((one) => finish(STATUS.ESME_ROK, one)),
      (error: unknown) => finishAll((one) => refuse(error, one)),
    );
  }

  function refuse(error: unknown, answer: Answer): void {
    host.log('warn', 'A delivery was not stored and will be sent again', { reason: String(error) });
    finish(STATUS.ESME_RX_T_APPN, answer);
  }

  function finish(status: number, answer: Answer): void {
    atHost -= 1;
    answer(status);
  }

  function passToHost(delivery: Delivery): Promise<void> {
    const message = delivery.command === 'deliver_sm' ? delivery : { ...delivery, shortMessage: NO_OCTETS };
    if (!isReceipt(message, settings.dlrWithoutEsmClass)) {
      const isIa5 = settings.ia5AsDefault && message.dataCoding === IA5;
      return host.inbound({
        source: message.source,
        destination: message.destination,
        text: textOf(isIa5 ? { ...message, dataCoding: 0 } : message, settings.defaultAlphabet),
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
    handle,
    stop: () => {
      stopping = true;
    },
  };
}
