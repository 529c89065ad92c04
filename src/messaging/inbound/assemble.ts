import type { Part } from './sql.ts';

/** Result of joining waiting parts. */
export type Assembled = {
  /** The parts of each message that is complete or no longer waits for the others, in reading order. */
  readonly messages: readonly (readonly Part[])[];
  /** The ids of the parts that need not wait any more: those of the messages, and duplicates. */
  readonly spentIds: readonly number[];
};

/**
 * Joins long messages from all their waiting parts, given in the order in which they were received (GSM 03.40,
 * 9.2.3.24). A part may arrive at any time, and twice. An incomplete message is joined as it is when it is overdue, and
 * when a part with another text arrives with the number of an existing one: the handset uses the reference for its next
 * message.
 */
export function assemble(parts: readonly Part[]): Assembled {
  const sets = [...Map.groupBy(parts, keyOf).values()].map(assembleSet);
  return { messages: sets.flatMap((set) => set.messages), spentIds: sets.flatMap((set) => set.spentIds) };
}

const keyOf = ({ connectionId, source, destination, ref, total }: Part): string =>
  JSON.stringify([connectionId, source, destination, ref, total]);

function assembleSet(parts: readonly Part[]): Assembled {
  const messages: Part[][] = [];
  const repeats: Part[] = [];
  let waiting = new Map<number, Part>();
  const join = (): void => {
    messages.push([...waiting.values()].sort((a, b) => a.seq - b.seq));
    waiting = new Map();
  };
  for (const part of parts) {
    const there = waiting.get(part.seq);
    if (there && isSame(there, part)) {
      repeats.push(part);
      continue;
    }
    if (there) join();
    waiting.set(part.seq, part);
    if (waiting.size === part.total) join();
  }
  if ([...waiting.values()].some((part) => part.overdue)) join();
  return { messages, spentIds: [...messages.flat(), ...repeats].map((part) => part.id) };
}

const isSame = (a: Part, b: Part): boolean => a.text === b.text && Buffer.compare(a.octets, b.octets) === 0;
