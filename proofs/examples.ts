import type { Run } from './proof.ts';

const EXAMPLES = 20;
const EXAMPLE_LENGTH = 600;

/** Tells people of the first faults, and of each kind once. */
export function createExamples({ say }: Pick<Run, 'say'>): (kind: string, sentence: string) => void {
  const told = new Set<string>();
  return (kind, sentence) => {
    if (told.has(kind) || told.size >= EXAMPLES) return;
    told.add(kind);
    say(sentence.slice(0, EXAMPLE_LENGTH));
  };
}
