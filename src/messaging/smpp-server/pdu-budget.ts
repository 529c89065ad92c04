import { SECOND_MS } from '../../platform/lib/time.ts';

/** Maximum PDUs before the bind, including the bind: a client has no reason to send more. */
const MAX_BEFORE_BIND = 5;
/**
 * PDUs per second of one bind, responses to our deliver_sm not counted, as a multiple of the messages that it may send.
 */
const PDUS_OF_RATE = 10;
const PDUS_PER_SECOND = { least: 100, most: 10_000 };
/** Responses on one bind to nothing that we have sent, in addition to those that came too late. */
const MAX_STRAYS = 20;
/** Maximum errors that a client may make on one connection: above that, it is not sending SMPP. */
const MAX_FAULTS = { stranger: 3, bound: 100 };

/** Remaining allowance of one connection. Each call counts one PDU and returns false when the connection has to end. */
export type PduBudget = {
  /** A request, or a frame that cannot be read. */
  request(): boolean;
  /** A request that makes no sense in its state. */
  fault(): boolean;
  /** A response to nothing that we have sent. */
  stray(): boolean;
  /** Expects this many more apparent strays: responses that are no longer awaited. */
  expectLate(responses: number): void;
  /** True while the PDUs of this second are used up: nothing is read meanwhile. */
  readonly isResting: boolean;
};

/**
 * Creates the budget of a connection. `messagesPerSecond` is undefined before the bind, and Infinity for a client
 * without a rate; `changed` is called when `isResting` has changed.
 */
export function createPduBudget(messagesPerSecond: () => number | undefined, changed: () => void): PduBudget {
  let requests = 0;
  let countedFrom = performance.now();
  let faults = 0;
  let strays = 0;
  let maxStrays = MAX_STRAYS;
  let isResting = false;

  function rest(ms: number): void {
    isResting = true;
    changed();
    setTimeout(() => {
      isResting = false;
      startSecond();
      changed();
    }, ms).unref();
  }

  function startSecond(): void {
    requests = 0;
    countedFrom = performance.now();
  }

  return {
    request() {
      requests += 1;
      const rate = messagesPerSecond();
      if (rate === undefined) return requests <= MAX_BEFORE_BIND;
      if (requests < pdusPerSecond(rate) || isResting) return true;
      const restMs = SECOND_MS - (performance.now() - countedFrom);
      if (restMs <= 0) startSecond();
      else rest(restMs);
      return true;
    },
    fault() {
      faults += 1;
      return faults < (messagesPerSecond() === undefined ? MAX_FAULTS.stranger : MAX_FAULTS.bound);
    },
    stray() {
      strays += 1;
      return strays <= maxStrays;
    },
    expectLate(responses) {
      maxStrays += responses;
    },
    get isResting() {
      return isResting;
    },
  };
}

const pdusPerSecond = (messagesPerSecond: number): number =>
  Math.min(PDUS_PER_SECOND.most, Math.max(PDUS_PER_SECOND.least, PDUS_OF_RATE * messagesPerSecond));
