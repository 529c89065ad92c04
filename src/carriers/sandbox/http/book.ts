export type EventResult = 'waiting' | 'acked' | 'lost';

type Entry = { readonly kind: string };

/**
 * What the ledgers of the HTTP networks have in common: entries in their order, counters, and how often each answer was
 * given. With `counts` no entry is kept: for benches and long runs.
 */
export function createBook<
  Message extends Entry & { readonly kind: 'message' },
  Event extends Entry,
  Name extends string,
>(keep: 'entries' | 'counts', zero: Readonly<Record<Name, number>>) {
  const kept: (Message | Event)[] = [];
  const counts: Record<Name, number> = { ...zero };
  const answers: Record<string, number> = {};
  let n = 0;
  return {
    reading: {
      entries: (): readonly (Message | Event)[] => kept,
      messages: () => kept.filter((entry): entry is Message => entry.kind === 'message'),
      events: () => kept.filter((entry): entry is Event => entry.kind !== 'message'),
      counts: () => ({ ...counts }),
    },
    answers,
    count(name: Name, by = 1): void {
      counts[name] += by;
    },
    countAnswer(answer: string | number): void {
      answers[answer] = (answers[answer] ?? 0) + 1;
    },
    /** The place and the time of a new entry. */
    stamp: () => ({ n: ++n, at: Date.now() }),
    put<E extends Message | Event>(entry: E): E | null {
      if (keep === 'counts') return null;
      kept.push(entry);
      return entry;
    },
  };
}
