type EventResult = 'waiting' | 'acked' | 'lost';

/** The position and the time of a ledger entry. */
export type Stamp = {
  /** Position in the ledger, from 1; messages and events share the numbers. */
  readonly n: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
};

/** One event that the simulator reports to its client by a callback. */
export type EventEntry<Kind extends string> = Stamp & {
  readonly kind: Kind;
  /** The id of the message or object that the event is about. */
  readonly id: string;
  /** The name of the event. */
  readonly what: string;
  /** Number of times that a callback with this event was sent. */
  tries: number;
  /** `lost`: given up after the last attempt, or because the queue was full. */
  result: EventResult;
};

/** The counters that every HTTP simulator has. */
type CommonCounter = 'messages' | 'accepted' | 'refused' | 'acked' | 'lost';

/** The reading side of an HTTP simulator's ledger. */
export type HttpLedger<Message, Kind extends string, Counter extends string> = {
  /** Returns all entries in order; an empty list when only counts are kept. */
  entries(): readonly (Message | EventEntry<Kind>)[];
  messages(): Message[];
  events(): EventEntry<Kind>[];
  counts(): Record<Counter | CommonCounter, number>;
};

/** The writing side, for the simulator itself. */
export type HttpLedgerWriter<Message, Kind extends string, Counter extends string> = HttpLedger<
  Message,
  Kind,
  Counter
> & {
  count(name: Counter | CommonCounter, by?: number): void;
  /** Records an event before its callback is sent; returns null when no entries are kept. */
  recordEvent(event: Pick<EventEntry<Kind>, 'kind' | 'id' | 'what'>): EventEntry<Kind> | null;
  /** Records how the callback of an event ended. */
  recordResult(entry: EventEntry<Kind> | null, result: { readonly acked: boolean; readonly tries: number }): void;
};

export type HttpLedgerOptions<Kind extends string, Counter extends string> = {
  /** `counts` keeps no entries in memory: for benches and long runs. */
  readonly keep: 'entries' | 'counts';
  /** All counters, at 0. */
  readonly zero: Readonly<Record<Counter | CommonCounter, number>>;
  /** The counter of each kind of event. */
  readonly counterOf: Readonly<Record<Kind, Counter>>;
};

/**
 * Creates the common parts of the HTTP simulators' ledgers: `writer` with the ordered entries and the counters,
 * `addMessage` to record a message, and `answers`, which counts each response.
 */
export function createHttpLedger<
  Message extends { readonly kind: 'message' },
  Kind extends string,
  Counter extends string,
>({ keep, zero, counterOf }: HttpLedgerOptions<Kind, Counter>) {
  type Event = EventEntry<Kind>;
  const kept: (Message | Event)[] = [];
  const counts: Record<Counter | CommonCounter, number> = { ...zero };
  const answers: Record<string, number> = {};
  let n = 0;

  const stamp = (): Stamp => ({ n: ++n, at: Date.now() });

  function count(name: Counter | CommonCounter, by = 1): void {
    counts[name] += by;
  }

  function add<Entry extends Message | Event>(entry: Entry): Entry | null {
    if (keep === 'counts') return null;
    kept.push(entry);
    return entry;
  }

  const writer: HttpLedgerWriter<Message, Kind, Counter> = {
    entries: () => kept,
    messages: () => kept.filter((entry): entry is Message => entry.kind === 'message'),
    events: () => kept.filter((entry): entry is Event => entry.kind !== 'message'),
    counts: () => ({ ...counts }),
    count,
    recordEvent(event) {
      count(counterOf[event.kind]);
      return add<Event>({ ...stamp(), tries: 0, result: 'waiting', ...event });
    },
    recordResult(entry, { acked, tries }) {
      const result = acked ? 'acked' : 'lost';
      count(result);
      if (entry) Object.assign(entry, { tries, result });
    },
  };

  /**
   * Counts a message and, unless null, its response; returns the entry that `build` makes, or null when none are kept.
   */
  function addMessage(
    accepted: boolean,
    answer: string | number | null,
    build: (stamp: Stamp) => Message,
  ): Message | null {
    count('messages');
    count(accepted ? 'accepted' : 'refused');
    if (answer !== null) answers[answer] = (answers[answer] ?? 0) + 1;
    return add(build(stamp()));
  }

  return { writer, addMessage, answers: (): Readonly<Record<string, number>> => ({ ...answers }) };
}
