import { STATUS, statusClass } from '../smpp/status.ts';
import type { DeliveryEntry, LedgerWriter } from './smsc-ledger.ts';
import { createTimeline, type SandboxScript } from './smsc-script.ts';

/** The state that all binds of one system_id share. */
export type Account = {
  readonly systemId: string;
  readonly outbox: Outbox;
  readonly binds: number;
  /** Counts a bind that came up. */
  bound(): void;
  /** Counts a bind that went down. */
  unbound(): void;
  /** Counts a submit; returns false when the account has used up its `tps`. */
  takeToken(): boolean;
};

type Accounts = {
  get(systemId: string): Account;
  all(): readonly Account[];
  /** Returns the account that bound last, or null. */
  lastBound(): Account | null;
};

/** Creates the accounts by system_id; they are never removed, since receipts wait in them. */
export function createAccounts(script: SandboxScript, ledger: LedgerWriter): Accounts {
  const accounts = new Map<string, Account>();
  let last: Account | null = null;

  function create(systemId: string): Account {
    let binds = 0;
    const account: Account = {
      systemId,
      outbox: createOutbox(script, ledger),
      get binds() {
        return binds;
      },
      bound() {
        binds++;
        last = account;
      },
      unbound: () => void binds--,
      takeToken: createTokens(script),
    };
    accounts.set(systemId, account);
    return account;
  }

  return {
    get: (systemId) => accounts.get(systemId) ?? create(systemId),
    all: () => [...accounts.values()],
    lastBound: () => last,
  };
}

/** Creates a token bucket that holds a quarter of a second of `tps`, at least one token. */
function createTokens(script: SandboxScript): () => boolean {
  let tokens = Number.POSITIVE_INFINITY;
  let filledAt = performance.now();
  return () => {
    if (script.tps === 0) return true;
    const now = performance.now();
    tokens = Math.min(tokens + ((now - filledAt) / 1000) * script.tps, Math.max(1, script.tps / 4));
    filledAt = now;
    if (tokens < 1) return false;
    tokens -= 1;
    return true;
  };
}

/** A deliver_sm for the client. */
export type Delivery = {
  readonly kind: DeliveryEntry['kind'];
  /** The encoded PDU; the session that sends it writes the sequence number. */
  frame: Buffer;
  readonly entry: DeliveryEntry | null;
  /** The number of attempts that ended without a response or with a temporary rejection. */
  failures: number;
  /** Called once; `acked` is true if the client acknowledged the delivery. */
  readonly settled: ((acked: boolean) => void) | null;
};

/** A session that can receive deliveries. */
type Receiver = {
  /** Returns true if the session's window has room. */
  room(): boolean;
  deliver(delivery: Delivery): void;
};

/** The deliveries that wait for the receiving sessions of one account. */
export type Outbox = {
  join(receiver: Receiver): void;
  /** Removes a session. Its `unanswered` deliveries are the first to go to another session. */
  leave(receiver: Receiver, unanswered: Iterable<Delivery>): void;
  add(delivery: Delivery): void;
  /** Handles the client's response to a delivery, or null when none came in time. */
  answered(delivery: Delivery, status: number | null): void;
  /** Passes waiting deliveries to the sessions that have room. */
  pump(): void;
  /** Returns the number of waiting deliveries, repetitions included. */
  waiting(): number;
  /** Returns the number of sessions. */
  receivers(): number;
  stop(): void;
};

/** Creates a queue with repetition for any number of sessions: a delivery may go to any session of the account. */
function createOutbox(script: SandboxScript, ledger: LedgerWriter): Outbox {
  const receivers: Receiver[] = [];
  const queue = createQueue<Delivery>();
  const retries = createTimeline<Delivery>((delivery) => {
    queue.pushFront(delivery);
    pump();
  });
  let turn = 0;

  function pump(): void {
    while (queue.size() > 0) {
      const receiver = nextWithRoom();
      if (!receiver) return;
      const delivery = queue.shift();
      if (delivery) receiver.deliver(delivery);
    }
  }

  function nextWithRoom(): Receiver | null {
    for (let tried = 0; tried < receivers.length; tried++) {
      turn = (turn + 1) % receivers.length;
      const receiver = receivers[turn];
      if (receiver?.room()) return receiver;
    }
    return null;
  }

  function settle(delivery: Delivery, result: 'acked' | 'refused' | 'lost'): void {
    ledger.recordResult(delivery.kind, delivery.entry, result);
    delivery.settled?.(result === 'acked');
  }

  function answered(delivery: Delivery, status: number | null): void {
    if (status === STATUS.ESME_ROK) settle(delivery, 'acked');
    else if (status !== null && !isTemporary(status)) settle(delivery, 'refused');
    else if (++delivery.failures >= script.maxTries) settle(delivery, 'lost');
    else retries.after(status === null ? 0 : script.retryMs, delivery);
    pump();
  }

  function add(delivery: Delivery): void {
    if (queue.size() >= script.maxWaiting) {
      settle(delivery, 'lost');
      return;
    }
    queue.push(delivery);
    pump();
  }

  function leave(receiver: Receiver, unanswered: Iterable<Delivery>): void {
    const index = receivers.indexOf(receiver);
    if (index >= 0) receivers.splice(index, 1);
    for (const delivery of [...unanswered].toReversed()) queue.pushFront(delivery);
    pump();
  }

  return {
    join(receiver) {
      receivers.push(receiver);
      pump();
    },
    leave,
    add,
    answered,
    pump,
    waiting: () => queue.size() + retries.size(),
    receivers: () => receivers.length,
    stop: () => retries.stop(),
  };
}

function isTemporary(status: number): boolean {
  const kind = statusClass(status);
  return kind === 'throttle' || kind === 'retry';
}

/** Creates a FIFO queue that does not shift its items; `pushFront` is for the few that return. */
function createQueue<Item>() {
  const returned: Item[] = [];
  let items: Item[] = [];
  let head = 0;

  function shift(): Item | undefined {
    if (returned.length > 0) return returned.pop();
    const item = items[head++];
    // Compacting when half is consumed moves each item about once.
    if (head > 1000 && head * 2 > items.length) {
      items = items.slice(head);
      head = 0;
    }
    return item;
  }

  return {
    push: (item: Item) => void items.push(item),
    pushFront: (item: Item) => void returned.push(item),
    shift,
    size: () => returned.length + items.length - head,
  };
}
