type EventResult = 'waiting' | 'acked' | 'lost';

/** Where an entry stands, and since when. */
export type Stamp = {
  /** Place in the ledger, from 1; messages and events share the numbers. */
  readonly n: number;
  /** Milliseconds of the epoch. */
  readonly at: number;
};

/** One thing that the sandbox tells its client by a callback. */
export type EventEntry<Kind extends string> = Stamp & {
  readonly kind: Kind;
  /** What it is about. */
  readonly id: string;
  /** What has happened to it. */
  readonly what: string;
  /** Times that a callback with it was sent. */
  tries: number;
  /** `lost`: given up after the last try, or no room to wait. */
  result: EventResult;
};

/** What all ledgers of the HTTP networks can be asked for. */
export type BookReading<Message, Event, Name extends string> = {
  /** Everything that was kept, in order. Empty when only counts are kept. */
  entries(): readonly (Message | Event)[];
  messages(): Message[];
  events(): Event[];
  counts(): Record<Name, number>;
};

/**
 * What the ledgers of the HTTP networks have in common: entries in their order, counters, and how often each answer was
 * given. With `counts` no entry is kept: for benches and long runs.
 *
 * @param counterOf the counter of each kind of event
 */
export function createBook<Message extends { readonly kind: 'message' }, Kind extends string, Name extends string>(
  keep: 'entries' | 'counts',
  zero: Readonly<Record<Name, number>>,
  counterOf: Readonly<Record<Kind, Name>>,
) {
  type Event = EventEntry<Kind>;
  const kept: (Message | Event)[] = [];
  const counts: Record<Name, number> = { ...zero };
  const answers: Record<string, number> = {};
  let n = 0;

  function count(name: Name, by = 1): void {
    counts[name] += by;
  }

  function put<Entry extends Message | Event>(entry: Entry): Entry | null {
    if (keep === 'counts') return null;
    kept.push(entry);
    return entry;
  }

  const stamp = (): Stamp => ({ n: ++n, at: Date.now() });
  const reading: BookReading<Message, Event, Name> = {
    entries: () => kept,
    messages: () => kept.filter((entry): entry is Message => entry.kind === 'message'),
    events: () => kept.filter((entry): entry is Event => entry.kind !== 'message'),
    counts: () => ({ ...counts }),
  };
  return {
    reading,
    answers,
    count,
    put,
    stamp,
    countAnswer(answer: string | number): void {
      answers[answer] = (answers[answer] ?? 0) + 1;
    },
    recordEvent(event: Pick<Event, 'kind' | 'id' | 'what'>): Event | null {
      count(counterOf[event.kind]);
      return put({ ...stamp(), tries: 0, result: 'waiting', ...event });
    },
  };
}
