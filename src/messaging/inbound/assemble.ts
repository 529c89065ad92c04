import type { Part } from './sql.ts';

/** What waiting parts come to. */
export type Assembled = {
  /** The parts of each message that is complete or waits no longer, in reading order. */
  readonly messages: readonly (readonly Part[])[];
  /** Ids of the parts that are used up: those of the messages, and repeats. */
  readonly spentIds: readonly number[];
};

/**
 * Puts long messages together from all their waiting parts, given in the order in which they came (protocol sheet
 * smpp, section 7). A part may come at any time and twice. What is incomplete ends as it is when it is overdue, and
 * when another text comes in the place of a part that is there: the handset uses its reference for the next message.
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
  const end = (): void => {
    messages.push([...waiting.values()].sort((a, b) => a.seq - b.seq));
    waiting = new Map();
  };
  for (const part of parts) {
    const there = waiting.get(part.seq);
    if (there && isSame(there, part)) {
      repeats.push(part);
      continue;
    }
    if (there) end();
    waiting.set(part.seq, part);
    if (waiting.size === part.total) end();
  }
  if ([...waiting.values()].some((part) => part.overdue)) end();
  return { messages, spentIds: [...messages.flat(), ...repeats].map((part) => part.id) };
}

const isSame = (a: Part, b: Part): boolean => a.text === b.text && Buffer.compare(a.octets, b.octets) === 0;
