import type { STATUS } from '../smpp/status.ts';

/** The name of a command_status. */
export type StatusName = keyof typeof STATUS;

/** One receipt of a message: the fields of its text and its message_state parameter. */
export type ReceiptStep = { readonly stat: string; readonly state: number; readonly err: string };

/** Outcome of the messages to one kind of destination. */
export type Outcome = {
  /** Rejects messages with this status: always, or `refuseTimes` times before one is accepted. */
  readonly refuse?: StatusName;
  readonly refuseTimes?: number;
  /** The receipts in order, each `receiptDelayMs` after the previous one; by default one DELIVRD. */
  readonly receipts?: readonly ReceiptStep[];
  /** Sends the first receipt before the response. */
  readonly early?: boolean;
  /** Sends each receipt twice. */
  readonly doubled?: boolean;
};

/**
 * The behaviour of the simulator. It may be changed while the simulator runs, with effect from the next PDU on.
 * `…Share` fields are probabilities from 0 to 1; all randomness is derived from `seed`, so a run with the same traffic
 * is repeatable.
 */
export type SandboxScript = {
  /** The only accepted system_id; undefined accepts any that is not empty, each as its own account. */
  systemId: string | undefined;
  /** The only accepted password; undefined accepts any. */
  password: string | undefined;
  /** Maximum length of a password; SMPP allows 8 characters, many carriers issue longer ones. 0 means no limit. */
  maxPasswordLength: number;
  /** Rejects every bind with this status; null validates binds. */
  bindRefusal: StatusName | null;
  /** Maximum binds per system_id; one more gets ESME_RALYBND. 0 means no limit. */
  maxBinds: number;
  /** The time after which a connection without a bind is closed. */
  bindTimeoutMs: number;
  /** Silence of the peer after which an enquire_link is sent; after three times as long the connection is closed. */
  enquireMs: number;

  /** Maximum unanswered submits per session; 0 means no limit. */
  window: number;
  /** The response to submits beyond the window. */
  windowStatus: 'ESME_RTHROTTLED' | 'ESME_RMSGQFUL';
  /**
   * submit_sm per second and system_id, over all its binds (token bucket, a quarter of a second deep); 0 means no
   * limit.
   */
  tps: number;
  /** The share of submits that are throttled. */
  throttleShare: number;
  responseDelayMs: number;
  /** The share of responses that are sent `reorderMs` late. */
  reorderResponseShare: number;
  /** The share of messages that are accepted without a response. */
  dropResponseShare: number;
  reorderMs: number;
  /** Cuts a connection after this many accepted submits, dropping responses that are not written yet; 0 means never. */
  cutAfter: number;
  /** True if numbers may have a leading plus sign. */
  allowPlus: boolean;

  /** `hex-padded` has 16 upper-case digits. */
  idFormat: 'decimal' | 'hex-lower' | 'hex-upper' | 'hex-padded' | 'uuid';
  /**
   * The first message id as a number below 2^53; by default the clock in microseconds, so that a restart repeats none.
   */
  firstId: number;
  /**
   * Spelling of the id in a receipt: like the response, in the other base, in the other case, or with leading zeros.
   */
  receiptIdBase: 'same' | 'opposite' | 'other-case' | 'zero-padded';
  receiptForm: 'text' | 'tlv' | 'both';
  /** `on` sends receipts to messages whose registered_delivery requests one. */
  receipts: 'on' | 'none';
  receiptDelayMs: number;
  /** The share of messages whose first receipt is sent before the response. */
  earlyReceiptShare: number;
  /** The share of receipts that are sent twice. */
  doubleReceiptShare: number;
  /** The share of messages without receipts. */
  missingReceiptShare: number;
  /** The share of receipts that are sent `reorderMs` late. */
  reorderReceiptShare: number;
  /** The share of receipts that are accompanied by a receipt for an unknown message. */
  foreignReceiptShare: number;
  /** By the last four digits of the destination; every other destination gets `otherwise`. */
  outcomes: Readonly<Record<string, Outcome>>;
  otherwise: Outcome;

  /** Maximum unanswered deliver_sm per session. */
  deliverWindow: number;
  /** The time after which a deliver_sm without a response, or with a temporary rejection, is sent again. */
  retryMs: number;
  /** Maximum attempts per deliver_sm; a cut connection does not count. */
  maxTries: number;
  /** Maximum deliver_sm per system_id that wait for a session; further ones are lost and counted. */
  maxWaiting: number;
  /** The newest messages that are kept for query_sm, cancel_sm and replace_sm (up to twice as many). */
  keepMessages: number;
  seed: number;
};

const step = (stat: string, state: number, err = '000'): ReceiptStep => ({ stat, state, err });

/** The receipt of a delivered message. */
export const DELIVERED = step('DELIVRD', 2);
/** The state of a cancelled message. */
export const DELETED = step('DELETED', 4);
const EXPIRED = step('EXPIRED', 3, '003');
/** The message_state values that are final. */
export const FINAL_STATES: ReadonlySet<number> = new Set([2, 3, 4, 5, 8]);

/** Ordinary numbers deliver; the last four digits 9901 to 9911 select other outcomes. */
const DEFAULT_OUTCOMES: Readonly<Record<string, Outcome>> = {
  9901: { receipts: [step('UNDELIV', 5, '001')] },
  9902: { receipts: [EXPIRED] },
  9903: { receipts: [step('REJECTD', 8, '008')] },
  9904: { receipts: [step('ENROUTE', 1), DELIVERED] },
  9905: { early: true },
  9906: { doubled: true },
  9907: { receipts: [] },
  9908: { receipts: [step('UNKNOWN', 7)] },
  9909: { refuse: 'ESME_RINVDSTADR' },
  9910: { refuse: 'ESME_RTHROTTLED', refuseTimes: 3 },
  9911: { receipts: [step('FAILED', 5, '011')] },
};

/** Returns a new script with the default behaviour. */
export function defaultScript(): SandboxScript {
  return {
    systemId: undefined,
    password: undefined,
    maxPasswordLength: 0,
    bindRefusal: null,
    maxBinds: 0,
    bindTimeoutMs: 10_000,
    enquireMs: 30_000,
    window: 0,
    windowStatus: 'ESME_RTHROTTLED',
    tps: 0,
    throttleShare: 0,
    responseDelayMs: 0,
    reorderResponseShare: 0,
    dropResponseShare: 0,
    reorderMs: 50,
    cutAfter: 0,
    allowPlus: false,
    idFormat: 'decimal',
    firstId: Date.now() * 1000,
    receiptIdBase: 'same',
    receiptForm: 'both',
    receipts: 'on',
    receiptDelayMs: 500,
    earlyReceiptShare: 0,
    doubleReceiptShare: 0,
    missingReceiptShare: 0,
    reorderReceiptShare: 0,
    foreignReceiptShare: 0,
    outcomes: DEFAULT_OUTCOMES,
    otherwise: {},
    deliverWindow: 100,
    retryMs: 5000,
    maxTries: 20,
    maxWaiting: 1_000_000,
    keepMessages: 5000,
    seed: 1,
  };
}

/** Returns the outcome of messages to a destination, by its last four digits. */
export function outcomeFor(script: SandboxScript, destination: string): Outcome {
  return script.outcomes[destination.slice(-4)] ?? script.otherwise;
}

/** Delayed work; see `createTimeline`. */
type Timeline<Item> = {
  /** Runs `item` after `delayMs`, at most one step late. Items of the same step run in insertion order. */
  after(delayMs: number, item: Item): void;
  /** Returns the number of waiting items. */
  size(): number;
  /** Drops all waiting items. */
  stop(): void;
};

/**
 * Creates a scheduler without a timer per item: items wait in buckets of `stepMs`, and one timer empties the buckets
 * that are due. At 60,000 items per second, a timer for each would cost more than the messages themselves.
 */
export function createTimeline<Item>(run: (item: Item) => void, stepMs = 5): Timeline<Item> {
  const buckets = new Map<number, Item[]>();
  let cursor = 0;
  let waiting = 0;
  let timer: NodeJS.Timeout | undefined;

  function after(delayMs: number, item: Item): void {
    const now = performance.now();
    if (!timer) start(now);
    // Never a bucket that was emptied already: items added while a bucket runs go to the next one.
    const due = Math.max(Math.ceil((now + delayMs) / stepMs), cursor);
    const bucket = buckets.get(due);
    if (bucket) bucket.push(item);
    else buckets.set(due, [item]);
    waiting++;
  }

  function start(now: number): void {
    cursor = Math.floor(now / stepMs);
    timer = setTimeout(tick, stepMs);
  }

  function tick(): void {
    const last = Math.floor(performance.now() / stepMs);
    while (cursor <= last) runBucket(cursor++);
    timer = waiting > 0 ? setTimeout(tick, stepMs) : undefined;
  }

  function runBucket(number: number): void {
    const bucket = buckets.get(number);
    if (!bucket) return;
    buckets.delete(number);
    waiting -= bucket.length;
    for (const item of bucket) run(item);
  }

  function stop(): void {
    clearTimeout(timer);
    timer = undefined;
    buckets.clear();
    waiting = 0;
  }

  return { after, size: () => waiting, stop };
}

/** A repeatable source of random numbers. */
export type Random = {
  /** Returns a number from 0 (inclusive) to 1 (exclusive). */
  next(): number;
  /** Returns true in about `share` of the calls; draws no number when the share is 0. */
  chance(share: number): boolean;
};

/** Creates a mulberry32 generator: the same seed yields the same sequence. Not for secrets. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;

  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
  }

  return { next, chance: (share) => share > 0 && next() < share };
}
