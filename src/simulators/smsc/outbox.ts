import { STATUS, statusClass } from '../../carriers/smpp/status.ts';
import type { DeliveryEntry } from './ledger-entries.ts';
import type { LedgerWriter } from './ledger.ts';
import type { SandboxScript } from './script.ts';
import { createTimeline } from './timeline.ts';

/** A deliver_sm on its way to the client. */
export type Delivery = {
  readonly kind: DeliveryEntry['kind'];
  /** The encoded PDU; the session that sends it puts its sequence number in. */
  frame: Buffer;
  readonly entry: DeliveryEntry | null;
  /** Writes that ended in silence or a temporary refusal. */
  failures: number;
  /** Called once with the end of it, for those who wait. */
  readonly settled: ((acked: boolean) => void) | null;
};

/** A session that can deliver. */
export type Receiver = {
  room(): boolean;
  deliver(delivery: Delivery): void;
};

/** What waits for the sessions of one account that can receive. */
export type Outbox = {
  join(receiver: Receiver): void;
  /** `open`: what the session had written without an answer; it goes to another session first of all. */
  leave(receiver: Receiver, open: Iterable<Delivery>): void;
  add(delivery: Delivery): void;
  /** The answer of the client, or null when none came in time. */
  answered(delivery: Delivery, status: number | null): void;
  /** Gives what waits to the sessions that have room. */
  pump(): void;
  waiting(): number;
  receivers(): number;
  stop(): void;
};

/** A queue in front of any number of sessions, with repetition. Receipts may take any session of the account. */
export function createOutbox(script: SandboxScript, ledger: LedgerWriter): Outbox {
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

  function leave(receiver: Receiver, open: Iterable<Delivery>): void {
    const place = receivers.indexOf(receiver);
    if (place >= 0) receivers.splice(place, 1);
    for (const delivery of [...open].toReversed()) queue.pushFront(delivery);
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

/** First in, first out, without moving what waits; `pushFront` is for the few that come back. */
function createQueue<Item>() {
  const returned: Item[] = [];
  let items: Item[] = [];
  let head = 0;

  function shift(): Item | undefined {
    if (returned.length > 0) return returned.pop();
    const item = items[head++];
    // Compacting when half is used up moves each item about once.
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
